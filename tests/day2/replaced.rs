//! One control plane becomes three of a MachineDeployment, which then replaces them by a newer version, as docs/day-2.md has it:
//! the first one is adopted as it is, joins come before leaves, and workers wait.

use std::collections::BTreeSet;
use std::time::Instant;

use kube::ResourceExt;
use serde_json::json;
use tatara::api::{Cluster, Machine, MachineDeployment};

use crate::requests::Requests;
use crate::support::conditions::said;
use crate::support::versions::{edit_machines, from_a_mirror, pinned};
use crate::support::wait::within;
use crate::support::world::World;

const FIRST: &str = "quickstart-control-plane";
const DEPLOYMENT: &str = "quickstart-control-planes";
const WORKERS: &str = "quickstart-workers";
/// A worker of the older version, from whose host the Service is asked.
const WORKER: &str = "stays";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs hosts with both Kubernetes versions"]
async fn control_planes_of_a_deployment_are_adopted_and_replaced() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::prepared_with("replaced", "10.97.0", 7).await;
    let mirror = begin_with(&world, &old).await;
    let host = world.host_of(FIRST).await;
    let begun = Instant::now();
    becomes_three(&world, &old, &mirror).await;
    println!("one becomes three: {:?}", begun.elapsed());
    assert_eq!(world.host_of(FIRST).await, host, "adopted as it was");
    let requests = Requests::begin(&world, &world.host_of(WORKER).await);
    let before = control_planes(&world).await;
    assert!(before.contains(FIRST) && before.len() == 3, "{before:?}");
    let begun = Instant::now();
    raise(&world, &new);
    workers_wait(&world, &old).await;
    rolled_out(&world, DEPLOYMENT, 1800).await;
    println!("three replaced: {:?}", begun.elapsed());
    let after = control_planes(&world).await;
    assert!(after.is_disjoint(&before) && after.len() == 3, "{after:?}");
    addons_follow(&world, &new).await;
    rolled_out(&world, WORKERS, 600).await;
    println!("all: {:?}", begun.elapsed());
    let (answered, lost) = requests.end();
    println!("{answered} requests answered, {lost} lost");
    assert_eq!(lost, 0, "requests");
    does_not_go_back(&world, &old).await;
    world.leave();
}

/// One control plane and three workers of the older version; one worker was made by hand. Returns the mirror.
async fn begin_with(world: &World, old: &str) -> String {
    let node = from_a_mirror(world);
    let new = pinned("KUBERNETES");
    edit_machines(world, |text| {
        let text = text.replace(&new, old);
        ["control-plane", "worker"].iter().fold(text, |text, role| {
            let selector = format!("hostSelector: {{matchLabels: {{role: {role}}}}}");
            let indent = if *role == "worker" { "    " } else { "      " };
            text.replace(&selector, &format!("{selector}\n{indent}{node}"))
        })
    });
    world.quickstart("apply");
    let quoted = node.split('"').nth(1).expect("the mirror").to_owned();
    let made = world.apply(&json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {
            "name": WORKER, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
        },
        "spec": { "versions": { "kubelet": old }, "providerSpec": { "value": provider_spec("worker", &quoted) } },
    }));
    assert!(made.status.success());
    world.until_ready(4, 420).await;
    world.quickstart("member");
    quoted
}

fn provider_spec(role: &str, mirror: &str) -> serde_json::Value {
    json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec",
        "hostSelector": { "matchLabels": { "role": role } },
        "node": { "software": { "source": "mirror", "mirror": mirror } },
    })
}

/// The first Machine gets the label of a MachineDeployment of three.
async fn becomes_three(world: &World, old: &str, mirror: &str) {
    world.kubectl(&["label", "machine", FIRST, "set=control-plane"]);
    let labels = json!({ "set": "control-plane" });
    let made = world.apply(&json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment",
        "metadata": {
            "name": DEPLOYMENT, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
        },
        "spec": {
            "replicas": 3, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": {
                "versions": { "kubelet": old, "controlPlane": old },
                "providerSpec": { "value": provider_spec("control-plane", mirror) },
            } },
        },
    }));
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    rolled_out(world, DEPLOYMENT, 600).await;
}

/// Both versions at once; workers in place.
fn raise(world: &World, new: &str) {
    let of = |name: &str, patch: &serde_json::Value| {
        let patch = patch.to_string();
        world.kubectl(&[
            "patch",
            "machinedeployment",
            name,
            "--type=merge",
            "-p",
            &patch,
        ]);
    };
    let workers = json!({ "spec": {
        "strategy": { "type": "InPlace", "rollingUpdate": null },
        "template": { "spec": { "versions": { "kubelet": new } } },
    } });
    of(WORKERS, &workers);
    let planes = json!({ "spec": { "template": { "spec": { "versions": { "kubelet": new, "controlPlane": new } } } } });
    of(DEPLOYMENT, &planes);
}

/// Until the control plane has moved, no worker does.
async fn workers_wait(world: &World, old: &str) {
    within("the first newer control plane", 600, async || {
        let machines = world.list::<Machine>().await;
        let is_new = |machine: &Machine| {
            let status = machine.status.clone().unwrap_or_default();
            let runs = status.versions.and_then(|versions| versions.control_plane);
            runs.is_some_and(|runs| runs != old)
        };
        machines.iter().any(is_new).then_some(())
    })
    .await;
    for machine in world.list::<Machine>().await {
        if machine.is_control_plane() {
            continue;
        }
        let versions = machine.status.clone().and_then(|status| status.versions);
        let kubelet = versions.expect("its versions").kubelet;
        assert_eq!(kubelet, old, "{}", machine.name_any());
    }
}

/// Names of the control-plane Machines.
async fn control_planes(world: &World) -> BTreeSet<String> {
    let machines = world.list::<Machine>().await.into_iter();
    let planes = machines.filter(Machine::is_control_plane);
    planes.map(|machine| machine.name_any()).collect()
}

/// Waits until a MachineDeployment says that its rollout is complete, and prints what it says on the way.
pub async fn rolled_out(world: &World, name: &str, seconds: u64) {
    let mut last = String::new();
    within("the end of the rollout", seconds, async || {
        let deployment = world
            .api::<MachineDeployment>()
            .get(name)
            .await
            .expect("it");
        let status = deployment.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == deployment.metadata.generation;
        let progressing = said(&status.conditions, "Progressing");
        if progressing != last {
            println!("{name}: {progressing}");
            last.clone_from(&progressing);
        }
        (is_seen && progressing.starts_with("True/Complete")).then_some(())
    })
    .await;
}

/// kube-proxy has the version of the control plane, and nothing is due any more.
async fn addons_follow(world: &World, new: &str) {
    within("kubeadm's addons", 300, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let due = cluster
            .annotations()
            .contains_key("tatara.dev/kubeadm-addons-due");
        let version = cluster.status.clone().unwrap_or_default().version;
        (!due && version.as_deref() == Some(new)).then_some(())
    })
    .await;
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let of = [
        "-n",
        "kube-system",
        "get",
        "daemonset",
        "kube-proxy",
        "-o",
        image,
    ];
    let image = world.member_kubectl().args(of).output().expect("kubectl");
    let image = String::from_utf8_lossy(&image.stdout).into_owned();
    assert!(image.ends_with(new), "{image}");
}

/// The template of before would be a step back: nothing is made, and the deployment says why.
async fn does_not_go_back(world: &World, old: &str) {
    let before = control_planes(world).await;
    let patch = json!({ "spec": { "template": { "spec": { "versions": { "kubelet": old, "controlPlane": old } } } } });
    let patch = patch.to_string();
    world.kubectl(&[
        "patch",
        "machinedeployment",
        DEPLOYMENT,
        "--type=merge",
        "-p",
        &patch,
    ]);
    within("the refusal", 60, async || {
        let deployment = world
            .api::<MachineDeployment>()
            .get(DEPLOYMENT)
            .await
            .expect("it");
        let status = deployment.status.unwrap_or_default();
        let progressing = said(&status.conditions, "Progressing");
        progressing.contains("does not go back").then_some(())
    })
    .await;
    assert_eq!(control_planes(world).await, before);
}
