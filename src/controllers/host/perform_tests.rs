use http::Method;
use serde_json::json;

use super::*;
use crate::manager::plane_tests::{ApiServer, Plane, cluster, nodes};

/// What comes of the deletion of the Node that a Machine left, in a Cluster of these Nodes; and
/// what was deleted.
async fn deleted(items: &[Value]) -> (Result<(), ReconcileError>, Vec<String>) {
    let plane = Plane::of(&ApiServer::default());
    let cluster = cluster();
    plane.stores().clusters.hold(cluster.clone());
    let server = items.iter().filter_map(|node| {
        let name = node["metadata"]["name"].as_str()?;
        Some((format!("/api/v1/nodes/{name}"), node.clone()))
    });
    let server = ApiServer::of(server.chain([("/api/v1/nodes".to_owned(), nodes(items))]));
    plane.connect(&cluster, &server).await;
    let owner = Marker {
        namespace: "n".into(),
        cluster: "c".into(),
        machine: "m".into(),
        uid: "m".into(),
        ..Marker::default()
    };
    let done = delete_left_node(&plane.controllers.hosts, &owner).await;
    let requests = server.requests(&Method::DELETE).into_iter();
    (done, requests.map(|(path, _)| path).collect())
}

#[tokio::test]
async fn a_node_that_was_dropped_at_a_limit_is_not_taken_for_deleted() {
    let node = |name: &str, uid: &str| {
        let id = format!("tatara://ssh/{uid}");
        let meta = json!({"name": name, "uid": name, "resourceVersion": "1"});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"providerID": id}})
    };
    let (absent, requests) = deleted(&[node("a", "other")]).await;
    assert!(absent.is_ok() && requests.is_empty(), "{requests:?}");
    let (found, requests) = deleted(&[node("a", "m"), node("b", "other")]).await;
    assert!(found.is_ok(), "{:?}", found.err());
    assert_eq!(requests, ["/api/v1/nodes/a"]);
    let mut large = node("a", "other");
    large["metadata"]["annotations"] = json!({"a": "x".repeat(17 << 20)});
    let (unknown, requests) = deleted(&[large, node("b", "m")]).await;
    let told = unknown.expect_err("it may be there").to_string();
    assert!(told.contains("exceed a limit"), "{told}");
    assert_eq!(requests, [""; 0]);
}
