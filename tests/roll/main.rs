//! Workers of the older Kubernetes under a newer control plane, rolled to its version over the hosts of their pool.

// what fails here fails the test
#![allow(clippy::expect_used, clippy::panic)]

#[path = "../support/audit.rs"]
#[allow(dead_code)]
mod audit;
#[path = "../life/world.rs"]
#[allow(dead_code)]
mod world;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tatara::api::{Machine, MachineDeployment};

use world::{World, eventually};

/// A version that hack/versions pins.
fn pinned(name: &str) -> String {
    let text = std::fs::read_to_string(world::root().join("hack/versions")).expect("hack/versions");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}=")));
    let words = line.expect("a version").split_whitespace();
    words.into_iter().next().expect("a version").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow: needs the older Kubernetes"]
async fn workers_roll_to_the_control_planes_version_one_host_at_a_time() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::prepared("roll", "10.96.0").await;
    take_software_from_a_mirror(&world, &new, &old);
    world.quickstart("apply");
    world.until_ready(3, 300).await;
    world.quickstart("member");
    let member = world.member().await;
    assert_eq!(
        kubelets(&member).await,
        BTreeSet::from([new.clone(), old.clone()])
    );
    let before = workers(&world).await;

    let patch = json!({"spec": {"template": {"spec": {"versions": {"kubelet": new}}}}}).to_string();
    world.kubectl(&[
        "patch",
        "machinedeployment",
        "quickstart-workers",
        "--type=merge",
        "-p",
        &patch,
    ]);
    let said = rolled(&world).await;
    println!("{}", said.join("\n"));
    let after = workers(&world).await;
    assert_eq!(before.hosts, after.hosts, "the pool has no other hosts");
    assert!(
        before.machines.is_disjoint(&after.machines),
        "every worker was replaced"
    );
    assert_eq!(kubelets(&member).await, BTreeSet::from([new]));
}

/// The workers' class and versions, in the manifests that are about to be applied.
fn take_software_from_a_mirror(world: &World, new: &str, old: &str) {
    let printed = world::done(world.hack("mirror").arg("up").env("PREVIOUS", "1"));
    let mirror = printed
        .lines()
        .find_map(|line| line.strip_prefix("MIRROR="));
    let node = format!(
        "hostSelector: {{matchLabels: {{role: worker}}}}\n    node: {{software: {{source: mirror, mirror: \"{}\"}}}}",
        mirror.expect("the mirror's address")
    );
    let path = world.run().join("manifests/30-machines.yaml");
    let text = std::fs::read_to_string(&path).expect("the manifests");
    let text = text
        .replace("hostSelector: {matchLabels: {role: worker}}", &node)
        .replace(
            &format!("versions: {{kubelet: {new}}}"),
            &format!("versions: {{kubelet: {old}}}"),
        );
    assert!(
        text.contains(old) && text.contains("source: mirror"),
        "{text}"
    );
    std::fs::write(path, text).expect("a file");
}

async fn kubelets(member: &Client) -> BTreeSet<String> {
    let nodes = Api::<Node>::all(member.clone())
        .list(&Default::default())
        .await;
    let infos = nodes
        .expect("Nodes")
        .items
        .into_iter()
        .filter_map(|node| node.status?.node_info);
    infos.map(|info| info.kubelet_version).collect()
}

struct Workers {
    machines: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

async fn workers(world: &World) -> Workers {
    let machines = world.list::<Machine>().await;
    let workers: Vec<_> = machines
        .iter()
        .filter(|machine| !machine.is_control_plane())
        .collect();
    Workers {
        machines: workers.iter().map(|machine| machine.name_any()).collect(),
        hosts: workers
            .iter()
            .filter_map(|machine| machine.status.as_ref()?.host.clone())
            .collect(),
    }
}

/// Waits for the end of the roll. What the deployment said on the way, each sentence once; it never has fewer
/// than one worker.
async fn rolled(world: &World) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    eventually("the end of the roll", 600, async || {
        let deployment = world
            .api::<MachineDeployment>()
            .get("quickstart-workers")
            .await
            .expect("it");
        let generation = deployment.metadata.generation;
        let status = deployment.status.expect("a status");
        assert!(status.available_replicas >= 1, "{said:#?}");
        for condition in &status.conditions {
            let line = format!(
                "{}={}/{}: {}",
                condition.type_, condition.status, condition.reason, condition.message
            );
            if said.last() != Some(&line) && !said.contains(&line) {
                said.push(line);
            }
        }
        let is_done = status.observed_generation == generation
            && status.updated_replicas == 2
            && status.available_replicas == 2
            && status.replicas == 2;
        is_done.then_some(())
    })
    .await;
    said
}
