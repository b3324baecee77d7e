//! Workers of the older Kubernetes under a newer control plane, rolled to its version over the hosts of their pool.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tatara_core::api::{Machine, MachineDeployment};

use crate::support::conditions::is_true;
use crate::support::versions::{edit_machines, pinned};
use crate::support::wait::within;
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow: needs the older Kubernetes"]
async fn workers_roll_to_the_control_planes_version_one_host_at_a_time() {
    let (new, old) = (pinned("KUBERNETES"), pinned("KUBERNETES_PREVIOUS"));
    let world = World::previous("roll", "10.99.0", 3).await;
    let of_a_control_plane =
        |version: &str| format!("versions: {{kubelet: {version}, controlPlane: {version}}}");
    edit_machines(&world, |text| {
        text.replace(&of_a_control_plane(&old), &of_a_control_plane(&new))
    });
    world.quickstart("apply");
    world.until_ready(3, 300).await;
    world.quickstart("member");
    let member = world.member().await;
    assert_eq!(
        kubelets(&member).await,
        BTreeSet::from([new.clone(), old.clone()])
    );
    let before = workers(&world).await;

    let said = Said::listen(&world).await;
    let patch = json!({"spec": {"template": {"spec": {"versions": {"kubelet": new}}}}}).to_string();
    world.kubectl(&[
        "patch",
        "machinedeployment",
        "quickstart-workers",
        "--type=merge",
        "-p",
        &patch,
    ]);
    roll_one_at_a_time(&world, &before.machines, &said).await;
    let complete = "Progressing=True/Complete: ";
    within("the end, told", 30, async || {
        let lines = said.lines();
        let is_last = |line: &&String| line.starts_with("Progressing=");
        lines
            .iter()
            .rfind(is_last)?
            .starts_with(complete)
            .then_some(())
    })
    .await;
    println!("{}", said.lines().join("\n"));
    steps_are_told_with_reasons(&said.lines(), &new, &old);
    let after = workers(&world).await;
    assert_eq!(before.hosts, after.hosts, "the pool has no other hosts");
    assert!(
        before.machines.is_disjoint(&after.machines),
        "every worker was replaced"
    );
    assert_eq!(kubelets(&member).await, BTreeSet::from([new]));
    drop(said);
    world.leave();
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

/// What the deployment said, in the order in which it said it.
struct Said(tokio::task::JoinHandle<()>, Arc<Mutex<Vec<String>>>);

impl Said {
    /// From now on, each version of the deployment: conditions as "TYPE=STATUS/REASON: MESSAGE", when they change.
    async fn listen(world: &World) -> Self {
        let api = world.api::<MachineDeployment>();
        let now = api.get("quickstart-workers").await.expect("it");
        let mut version = now.resource_version().expect("a version");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let listening = tokio::spawn(async move {
            loop {
                let one = WatchParams::default().fields("metadata.name=quickstart-workers");
                let mut events = api.watch(&one, &version).await.expect("a watch").boxed();
                // a watch ends after some minutes, and goes on at the next version
                while let Ok(Some(event)) = events.try_next().await {
                    if let WatchEvent::Modified(deployment) = event {
                        version = deployment.resource_version().expect("a version");
                        note(&deployment, &mut heard.lock().expect("the lines"));
                    }
                }
            }
        });
        Self(listening, lines)
    }

    fn lines(&self) -> Vec<String> {
        self.1.lock().expect("the lines").clone()
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn note(deployment: &MachineDeployment, said: &mut Vec<String>) {
    let status = deployment.status.as_ref();
    for condition in status.map(|s| s.conditions.as_slice()).unwrap_or_default() {
        let line = format!(
            "{}={}/{}: {}",
            condition.type_, condition.status, condition.reason, condition.message
        );
        let of_type = format!("{}=", condition.type_);
        let last = said.iter().rfind(|other| other.starts_with(&of_type));
        if last != Some(&line) {
            said.push(line);
        }
    }
}

/// Waits for the end of the roll. At each look there are no more workers than hosts, at most one of them is not there
/// for its pods, and none is new before the roll was announced.
async fn roll_one_at_a_time(world: &World, before: &BTreeSet<String>, said: &Said) {
    within("the end of the roll", 600, async || {
        let machines = world.list::<Machine>().await;
        let workers = machines
            .iter()
            .filter(|machine| !machine.is_control_plane());
        let looks: Vec<_> = workers
            .map(|machine| {
                let conditions = machine.status.as_ref().map(|s| s.conditions.as_slice());
                let is_ready = is_true(conditions.unwrap_or_default(), "Ready");
                let is_deleted = machine.metadata.deletion_timestamp.is_some();
                (machine.name_any(), is_ready && !is_deleted)
            })
            .collect();
        let away = looks.iter().filter(|(_, there)| !there).count();
        assert!(looks.len() <= 2 && away <= 1, "{looks:?}");
        let is_new = looks.iter().any(|(name, _)| !before.contains(name));
        let announced = |line: &String| line.starts_with("RollingOut=True/RollingOut: ");
        assert!(!is_new || said.lines().iter().any(announced), "{looks:?}");

        let deployments = world.api::<MachineDeployment>();
        let deployment = deployments.get("quickstart-workers").await.expect("it");
        let status = deployment.status.expect("a status");
        assert!(status.available_replicas >= 1);
        let is_done = status.observed_generation == deployment.metadata.generation
            && status.updated_replicas == 2
            && status.available_replicas == 2
            && status.replicas == 2;
        is_done.then_some(())
    })
    .await;
}

/// Each step with its reason, in the order of a roll that first takes one away; then the end.
fn steps_are_told_with_reasons(said: &[String], new: &str, old: &str) {
    let text = said.join("\n");
    let steps: Vec<&str> = said
        .iter()
        .filter_map(|line| line.strip_prefix("Progressing=True/MachineSetUpdated: "))
        .flat_map(|steps| steps.split("; "))
        .collect();
    let (new, old) = (new.trim_start_matches('v'), old.trim_start_matches('v'));
    let template = format!("versions.kubelet {old} → {new}");
    assert!(text.contains(&template), "{text}");
    let mut rest = steps.iter();
    for (which, change, because) in [
        (
            "old",
            "from 2 to 1",
            "2 available replicas > 1 minimum available replicas",
        ),
        (
            "current",
            "from 0 to 1",
            "1 current Machine < 2 spec.replicas + 0 maxSurge",
        ),
        (
            "old",
            "from 1 to 0",
            "2 available replicas > 1 minimum available replicas",
        ),
        (
            "current",
            "from 1 to 2",
            "1 current Machine < 2 spec.replicas + 0 maxSurge",
        ),
    ] {
        let is_it = |step: &&&str| {
            step.starts_with(&format!("{which} MachineSet "))
                && step.contains(&format!(" {change}: "))
                && step.contains(because)
        };
        assert!(rest.any(|step| is_it(&step)), "{which} {change}: {text}");
    }
    assert!(!text.contains("ProgressDeadlineExceeded"), "{text}");
    let last = |of: &str| said.iter().rfind(|line| line.starts_with(of));
    let rolling = last("RollingOut=").expect("it");
    assert_eq!(rolling, "RollingOut=False/NotRollingOut: ");
    let progressing = last("Progressing=").expect("it");
    assert!(
        progressing.starts_with("Progressing=True/Complete: "),
        "{text}"
    );
}
