//! A cluster whose API is silent for two minutes, for packets to it are dropped: nothing is done to its nodes, and
//! another cluster is made meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tatara_core::api::Machine;

use crate::life::claims::{applied, copied, machine_says, yaml};
use crate::life::deletion::HOSTS;
use crate::life::edited::cluster_says;
use crate::support::wait::within;
use crate::support::world::World;

const SILENCE: Duration = Duration::from_mins(2);

/// Needs the quickstart's cluster, and leaves it as it was.
pub async fn packets_to_its_api_cost_no_node_and_no_other_cluster(world: &World) {
    scale(world, 1);
    within("a free host", 180, async || {
        (world.available().await.len() == 1).then_some(())
    })
    .await;
    let (machines, nodes) = (machines(world).await, nodes(world).await);
    let steps = steps(world);

    // those of the manager alone: kubelets are heard
    let rule = format!(
        "INPUT -s {}.254/32 -p tcp --dport 6443 -j DROP",
        world.subnet()
    );
    world.shell("host-a", &format!("iptables -I {rule}"));
    let silence = tokio::time::sleep(SILENCE);
    another(world);
    cluster_says(world, "ControlPlaneHealthy", "False/").await;
    for machine in world.list::<Machine>().await {
        if machines.contains(&machine.uid().expect("a UID")) {
            let name = machine.name_any();
            machine_says(world, &name, "NodeHealthy", "ApiUnreachable").await;
        }
    }
    within("the other cluster", 400, async || {
        let said = world.machine_says("other-control-plane", "Ready").await;
        said.starts_with("True/").then_some(())
    })
    .await;
    silence.await;
    let said = cluster_says(world, "ControlPlaneHealthy", "False/").await;
    eprintln!("the silent one: {said}");
    world.shell("host-a", &format!("iptables -D {rule}"));
    cluster_says(world, "ControlPlaneHealthy", "True/").await;

    world.kubectl(&["delete", "cluster", "other", "--timeout=240s"]);
    world.until_ready(machines.len(), 120).await;
    assert_eq!(self::machines(world).await, machines);
    assert_eq!(self::nodes(world).await, nodes);
    let other = steps_of_the_other(&steps, &self::steps(world));
    assert_eq!(other, [["prepare", "init", "reset"].as_slice()]);
    scale(world, 2);
    world.until_ready(3, 240).await;
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment/quickstart-workers", &replicas]);
}

/// A second Cluster of one control-plane Machine, on a host for workers.
fn another(world: &World) {
    let mut cluster = copied(yaml(world, "cluster/quickstart"), "other");
    cluster["metadata"]["annotations"] = json!({});
    cluster["metadata"]["finalizers"] = json!([]);
    let endpoint = format!("{}.101", world.subnet());
    let spec = &mut cluster["spec"]["providerSpec"]["value"];
    spec["controlPlaneEndpoint"]["host"] = endpoint.as_str().into();
    spec["addons"][0]["name"] = "other-flannel".into();
    applied(world, &flannel_at(world, &endpoint));
    applied(world, &cluster);
    let first = yaml(world, "machine/quickstart-control-plane");
    let mut machine = copied(first, "other-control-plane");
    machine["metadata"]["annotations"] = json!({});
    machine["metadata"]["finalizers"] = json!([]);
    machine["metadata"]["labels"] = json!({"cluster.k8s.io/cluster-name": "other"});
    let spec = machine["spec"].as_object_mut().expect("a spec");
    spec.remove("providerID");
    spec["providerSpec"]["value"]["hostSelector"] = json!({"matchLabels": {"role": "worker"}});
    applied(world, &machine);
}

/// flannel of the quickstart, which asks the API server at `endpoint`: the quickstart's own would not trust flannel of
/// another cluster.
fn flannel_at(world: &World, endpoint: &str) -> Value {
    let mut flannel = copied(yaml(world, "configmap/quickstart-flannel"), "other-flannel");
    let first = format!("{}.100", world.subnet());
    let manifests = flannel["data"]["flannel.yaml"].as_str().expect("manifests");
    assert!(manifests.contains(&first), "{manifests}");
    flannel["data"]["flannel.yaml"] = manifests.replace(&first, endpoint).into();
    flannel
}

/// UIDs of the Machines.
async fn machines(world: &World) -> BTreeSet<String> {
    let machines = world.list::<Machine>().await.into_iter();
    machines.filter_map(|machine| machine.uid()).collect()
}

/// UIDs of the Nodes.
async fn nodes(world: &World) -> BTreeSet<String> {
    let nodes: Api<Node> = Api::all(world.member().await);
    let nodes = nodes.list(&Default::default()).await.expect("Nodes");
    nodes.into_iter().filter_map(|node| node.uid()).collect()
}

const UNITS: [&str; 4] = ["prepare", "init", "join", "reset"];

/// How often each unit was started on each host.
fn steps(world: &World) -> [[usize; 4]; 3] {
    HOSTS.map(|host| UNITS.map(|unit| world.starts(host, unit)))
}

/// What was started between the two, of hosts where anything was.
fn steps_of_the_other(before: &[[usize; 4]; 3], after: &[[usize; 4]; 3]) -> Vec<Vec<&'static str>> {
    let hosts = before.iter().zip(after).map(|(before, after)| {
        let units = UNITS.iter().zip(before.iter().zip(after));
        let started = units.flat_map(|(unit, (b, a))| vec![*unit; a - b]);
        started.collect::<Vec<_>>()
    });
    hosts.filter(|started| !started.is_empty()).collect()
}
