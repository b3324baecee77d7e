//! What belongs together is applied in any order, and nothing of that shows as trouble.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use serde_json::json;
use tatara_core::api::{Cluster, Machine};

use crate::simulated::site::{Site, until};

fn cluster(site: &Site, name: &str) {
    let cluster = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/12"]},
            "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}});
    site.apply(&cluster.to_string());
}

/// A Machine of a Cluster, which is found by this label of a pool.
fn machine(site: &Site, cluster: &str, name: &str) {
    let machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "default",
            "labels": {"cluster.k8s.io/cluster-name": cluster, "pool": name}},
        "spec": {"versions": {"kubelet": "v1.36.3"}, "providerSpec": {"value": {
            "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec"}}}});
    site.apply(&machine.to_string());
}

/// The Warnings about objects of ours so far, each with its object. Kubernetes has some of its own.
async fn warnings(site: &Site) -> Vec<String> {
    let events = site.api::<Event>().list(&ListParams::default()).await;
    let events = events.expect("Events").items.into_iter();
    let warnings = events.filter(|event| {
        let group = event.involved_object.api_version.as_deref();
        let is_ours = group.is_some_and(|group| {
            group.contains("cluster.k8s.io/") || group.contains("tatara.dev/")
        });
        is_ours && event.type_.as_deref() == Some("Warning")
    });
    let said = warnings.map(|event| {
        let of = event.involved_object;
        let (kind, name) = (of.kind.unwrap_or_default(), of.name.unwrap_or_default());
        let reason = event.reason.unwrap_or_default();
        format!(
            "{kind} {name}: {reason}: {}",
            event.message.unwrap_or_default()
        )
    });
    said.collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn in_either_order_nothing_warns_before_the_machines_are_ready() {
    let site = Site::new().await;
    let conditions = async |name: &str| {
        let cluster = site.api::<Cluster>().get(name).await.ok()?;
        Some(cluster.status?.conditions)
    };
    // the Cluster first, long before it has a Machine or a kubeconfig
    cluster(&site, "early");
    until("early", "WaitingForMachine", async || {
        conditions("early").await
    })
    .await;
    site.give_kubeconfig("early");
    machine(&site, "early", "second");
    // the Machine first, long before its Cluster
    machine(&site, "late", "first");
    until("first", "Starting", async || {
        let machine = site.api::<Machine>().get("first").await.ok()?;
        Some(machine.status?.conditions)
    })
    .await;
    site.give_kubeconfig("late");
    cluster(&site, "late");
    for pool in ["first", "second"] {
        site.until_ready(pool, 1).await;
    }
    assert_eq!(warnings(&site).await, [""; 0]);
}
