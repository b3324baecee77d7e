//! Settings of the Cluster that are edited while it runs: kubeadm's ConfigMaps have them, and then its nodes, one at a time.

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tatara_core::api::{Cluster, Machine};

use crate::support::conditions::said;
use crate::support::wait::within;
use crate::support::world::World;

/// A setting of the kubelet, after somebody else wrote another into kubeadm's ConfigMap.
pub async fn edit_the_kubelet(world: &World) {
    let maps: Api<ConfigMap> = Api::namespaced(world.member().await, "kube-system");
    let found = maps.get("kubelet-config").await.expect("kubeadm's");
    let by_hand = format!(
        "containerLogMaxFiles: 4\n{}",
        found.data.expect("data")["kubelet"]
    );
    let by_hand = Patch::Merge(json!({ "data": { "kubelet": by_hand } }));
    let params = PatchParams::default();
    maps.patch("kubelet-config", &params, &by_hand)
        .await
        .expect("written");
    edit(world, &json!({ "kubeletConfiguration": { "maxPods": 77 } })).await;
}

/// Both settings come to every node.
pub async fn every_node_follows(world: &World, hosts: &[&str]) {
    let nodes: Api<Node> = Api::all(world.member().await);
    within("every node follows", 400, async || {
        let list = nodes.list(&ListParams::default()).await.ok()?;
        let is_cordoned = |node: &&Node| {
            let spec = node.spec.as_ref();
            spec.is_some_and(|spec| spec.unschedulable == Some(true))
        };
        let cordoned: Vec<_> = list
            .iter()
            .filter(is_cordoned)
            .map(Node::name_any)
            .collect();
        assert!(cordoned.len() <= 1, "at once: {cordoned:?}");
        let pods = |node: &Node| node.status.clone()?.capacity?.get("pods").cloned();
        let has = |node: &Node| pods(node).is_some_and(|pods| pods.0 == "77");
        (list.iter().all(has) && are_up_to_date(world).await).then_some(())
    })
    .await;
    for host in hosts {
        let config = world.shell(host, "cat /var/lib/kubelet/config.yaml");
        for line in ["maxPods: 77", "containerLogMaxFiles: 4"] {
            assert!(config.contains(line), "{host}: {config}");
        }
    }
}

/// An argument of the API server comes to a control plane of one machine, which keeps its disk and its Node.
pub async fn of_a_lone_api_server(world: &World, machine: &str) {
    let host = world.host_of(machine).await;
    let manifest = "cat /etc/kubernetes/manifests/kube-apiserver.yaml";
    let argument = "--default-not-ready-toleration-seconds=301";
    assert!(!world.shell(&host, manifest).contains(argument));
    let arguments = json!([{ "name": "default-not-ready-toleration-seconds", "value": "301" }]);
    let configuration = json!({ "apiServer": { "extraArgs": arguments } });
    edit(
        world,
        &json!({ "kubeadm": { "clusterConfiguration": configuration } }),
    )
    .await;
    within("the API server follows", 400, async || {
        are_up_to_date(world).await.then_some(())
    })
    .await;
    assert!(world.shell(&host, manifest).contains(argument));
    assert_eq!(world.host_of(machine).await, host);
}

/// Edits settings in the Cluster, and waits until kubeadm's ConfigMaps have them.
async fn edit(world: &World, value: &Value) {
    let patch = json!({ "spec": { "providerSpec": { "value": value } } });
    let clusters = world.api::<Cluster>();
    let params = PatchParams::default();
    let edited = clusters
        .patch("quickstart", &params, &Patch::Merge(patch))
        .await;
    let generation = edited.expect("edited").metadata.generation;
    within("kubeadm's ConfigMaps", 60, async || {
        let cluster = clusters.get("quickstart").await.ok()?;
        let conditions = cluster.status.unwrap_or_default().conditions;
        let applied = conditions
            .iter()
            .find(|one| one.type_ == "SettingsApplied")?;
        (applied.observed_generation == generation && applied.status == "True").then_some(())
    })
    .await;
}

/// Whether every Machine says so of the settings that its Cluster has now.
async fn are_up_to_date(world: &World) -> bool {
    let machines = world.list::<Machine>().await;
    let is = |machine: &Machine| {
        let status = machine.status.clone().unwrap_or_default();
        let record = machine.annotations().get("tatara.dev/kubeadm-settings");
        let has = record.is_some_and(|record| !record.contains("applying"));
        has && said(&status.conditions, "UpToDate").starts_with("True/")
            && said(&status.conditions, "Ready").starts_with("True/")
    };
    machines.iter().all(is)
}
