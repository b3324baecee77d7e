//! What tests of this tier apply, and see of Machines and of etcd.

use kube::ResourceExt;
use serde_json::json;
use tatara_core::api::{Cluster, Machine};

use crate::support::conditions::{is_true, said};
use crate::support::wait::within;
use crate::support::world::World;

/// Applies another control-plane Machine.
pub fn control_plane(world: &World, name: &str, version: &str) {
    let made = world.apply(&json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {
            "name": name, "namespace": "default", "labels": { "cluster.k8s.io/cluster-name": "quickstart" },
        },
        "spec": {
            "versions": { "kubelet": version, "controlPlane": version },
            "providerSpec": { "valueFrom": { "machineClass": { "name": "control-plane" } } },
        },
    }));
    assert!(made.status.success(), "{name}");
}

/// A Machine that is there.
pub async fn machine(world: &World, name: &str) -> Machine {
    world.api::<Machine>().get(name).await.expect("a Machine")
}

/// Host of a Machine, and the host's address.
pub async fn place(world: &World, name: &str) -> (String, String) {
    let status = machine(world, name).await.status.expect("a status");
    let addresses = status.addresses.iter();
    let mut addresses = addresses.filter(|address| address.type_ == "InternalIP");
    let address = addresses.next().expect("an address").address.clone();
    (status.host.expect("a host"), address)
}

/// It runs this version, is Ready, and nothing is left to do.
pub fn is_at(machine: &Machine, version: &str) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let runs = status.versions.as_ref().is_some_and(|versions| {
        let planes = versions.control_plane.as_deref();
        versions.kubelet == version && planes.is_none_or(|runs| runs == version)
    });
    runs && is_true(&status.conditions, "UpToDate") && is_true(&status.conditions, "Ready")
}

/// The API of the cluster takes a write.
pub fn writes(world: &World) -> bool {
    // the same value would not be written
    let value = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let value = format!("faults={}", value.expect("a time").as_millis());
    let mut kubectl = world.member_kubectl();
    kubectl.args(["annotate", "namespace", "default", "--overwrite", &value]);
    let done = kubectl.arg("--request-timeout=5s").output();
    done.expect("kubectl").status.success()
}

/// The Machine that is updated, and what it says.
pub async fn updating(world: &World) -> Option<(String, String)> {
    for machine in world.list::<Machine>().await {
        let status = machine.status.clone().unwrap_or_default();
        let says = said(&status.conditions, "Updating");
        if says.starts_with("True/") {
            return Some((machine.name_any(), says));
        }
    }
    None
}

/// Waits until the Cluster says so of its etcd.
pub async fn etcd_is(world: &World, starts: &str) {
    within(starts, 120, async || {
        let cluster = world.api::<Cluster>().get("quickstart").await.expect("it");
        let status = cluster.status.unwrap_or_default();
        said(&status.conditions, "EtcdHealthy")
            .starts_with(starts)
            .then_some(())
    })
    .await;
}
