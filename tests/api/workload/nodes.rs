//! Writing to Nodes beside other writers.

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::{Api, Client};
use serde_json::json;
use tatara::workload::nodes::{self, NodeWrite};
use tatara_core::node_change::{NodeChange, Scheduling};

use crate::support::plane::Plane;
use crate::workload::objects::{make_node, patch_node};

fn taint(key: &str) -> Taint {
    Taint {
        key: key.into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    }
}

fn adding(key: &str) -> NodeChange {
    NodeChange {
        taints: vec![taint(key)],
        ..NodeChange::default()
    }
}

async fn keys_of_taints(client: &Client, name: &str) -> Vec<String> {
    let node = Api::<Node>::all(client.clone())
        .get(name)
        .await
        .expect("a node");
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    taints.into_iter().map(|taint| taint.key).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn taints_of_writers_that_conflict_are_all_kept() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let node = make_node(&client, "taints-1", "").await;
    let uid = node.metadata.uid.expect("a uid");
    patch_node(&client, "taints-1", json!({"spec": {"taints": []}})).await;
    let keys: Vec<String> = (0..5).map(|n| format!("tatara.dev/{n}")).collect();
    let changes: Vec<_> = keys.iter().map(|key| adding(key)).collect();
    let all = changes
        .iter()
        .map(|change| nodes::change(&client, "taints-1", &uid, change));
    for written in futures::future::join_all(all).await {
        assert_eq!(written.expect("a write"), NodeWrite::Changed);
    }
    let mut kept = keys_of_taints(&client, "taints-1").await;
    kept.sort();
    assert_eq!(kept, keys);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn nothing_is_written_twice_and_nothing_to_a_successor_of_the_same_name() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let first = make_node(&client, "twice-1", "").await;
    let uid = first.metadata.uid.expect("a uid");
    let change = NodeChange {
        labels: [("role".into(), Some("worker".into()))].into(),
        annotations: [("cluster.k8s.io/machine".into(), Some("default/m1".into()))].into(),
        scheduling: Some(Scheduling::Cordoned),
        ..adding("tatara.dev/x")
    };
    let nodes_api = Api::<Node>::all(client.clone());
    let write = || nodes::change(&client, "twice-1", &uid, &change);
    assert_eq!(write().await.expect("a write"), NodeWrite::Changed);
    let version = nodes_api
        .get("twice-1")
        .await
        .expect("a node")
        .metadata
        .resource_version;
    assert_eq!(write().await.expect("a write"), NodeWrite::Unchanged);
    let again = nodes_api
        .get("twice-1")
        .await
        .expect("a node")
        .metadata
        .resource_version;
    assert_eq!(version, again);

    assert_eq!(
        nodes::delete(&client, "twice-1", &uid)
            .await
            .expect("an end"),
        NodeWrite::Changed
    );
    make_node(&client, "twice-1", "").await;
    assert_eq!(write().await.expect("an answer"), NodeWrite::Gone);
    assert_eq!(
        nodes::delete(&client, "twice-1", &uid)
            .await
            .expect("an answer"),
        NodeWrite::Gone
    );
    let successor = nodes_api.get("twice-1").await.expect("the successor");
    assert_eq!(
        successor.metadata.labels.unwrap_or_default().get("role"),
        None
    );
}
