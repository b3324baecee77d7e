use serde_json::{Value, json};

use super::*;
use crate::manager::plane_tests::{ApiServer, Plane, cluster, nodes};

/// Whether a Machine counts as begun that says nothing of a Node, in a namespace with a Cluster of
/// these Nodes.
async fn is_begun_beside(items: &[Value]) -> bool {
    let plane = Plane::of(&ApiServer::default());
    let cluster = cluster();
    plane.stores().clusters.hold(cluster.clone());
    let server = ApiServer::of([("/api/v1/nodes", nodes(items))]);
    plane.connect(&cluster, &server).await;
    let machine = json!({"metadata": {"namespace": "n", "name": "m", "uid": "m"}, "spec": {}});
    let machine: Machine = serde_json::from_value(machine).expect("a Machine");
    let consumer = consumer_of(&plane.controllers.hosts, Some(&machine));
    assert!(matches!(
        consumer,
        Consumer::Exists {
            is_deleting: false,
            ..
        }
    ));
    matches!(consumer, Consumer::Exists { is_begun: true, .. })
}

#[tokio::test]
async fn a_node_that_was_dropped_at_a_limit_is_not_absent() {
    let node = |name: &str, uid: &str| {
        let id = format!("tatara://ssh/{uid}");
        json!({"metadata": {"name": name, "resourceVersion": "1"}, "spec": {"providerID": id}})
    };
    assert!(!is_begun_beside(&[]).await);
    assert!(!is_begun_beside(&[node("a", "other")]).await);
    assert!(is_begun_beside(&[node("a", "m")]).await);
    let mut large = node("a", "other");
    large["metadata"]["annotations"] = json!({"a": "x".repeat(17 << 20)});
    assert!(is_begun_beside(&[large, node("b", "m")]).await);
}
