//! The registry of workload clusters: wakes, connectivity, and the probe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::{Client, Config};
use serde_json::json;
use tatara::workload::health::{Readiness, probe};
use tatara::workload::{ClusterKey, Connectivity, Registry, Wake, client_config, nodes};
use tatara_core::node_change::Scheduling;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::plane::Plane;
use crate::support::wait::eventually;
use crate::workload::objects::{make_node, patch_node, report_ready};

pub fn key(name: &str) -> ClusterKey {
    ClusterKey {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("{name}-uid"),
    }
}

/// A registry whose wakes come out of a channel: names of Nodes, and `cluster` for the member.
pub fn registry() -> (Registry, UnboundedReceiver<String>) {
    let (to_nodes, wakes) = unbounded_channel();
    let to_clusters = to_nodes.clone();
    let wake = Wake {
        node: Arc::new(move |_, node| drop(to_nodes.send(node.name.clone()))),
        cluster: Arc::new(move |_| drop(to_clusters.send("cluster".into()))),
    };
    (Registry::new(wake), wakes)
}

async fn next(wakes: &mut UnboundedReceiver<String>) -> String {
    let wake = tokio::time::timeout(Duration::from_mins(1), wakes.recv()).await;
    wake.expect("a wake in time").expect("an open channel")
}

/// The next wake for this Node; other tests change other Nodes of the same plane.
pub async fn next_for(wakes: &mut UnboundedReceiver<String>, name: &str) {
    while next(wakes).await != name {}
}

fn pending_for(wakes: &mut UnboundedReceiver<String>, name: &str) -> usize {
    std::iter::from_fn(|| wakes.try_recv().ok())
        .filter(|wake| wake == name)
        .count()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_change_of_a_node_wakes_and_a_heart_beat_does_not() {
    let plane = Plane::shared();
    let client = plane.client().await;
    let (registry, mut wakes) = registry();
    let member = registry.connect(key("c1"), client.clone());
    next_for(&mut wakes, "cluster").await;
    assert!(member.is_synced());
    assert!(matches!(
        member.connectivity(),
        Connectivity::Connected { .. }
    ));

    let node = make_node(&client, "wake-1", "tatara://ssh/wake-1").await;
    next_for(&mut wakes, "wake-1").await;
    let found = member.nodes_by_provider_id("tatara://ssh/wake-1");
    let [seen] = found.as_slice() else {
        panic!("one node: {found:?}")
    };
    assert_eq!((seen.name.as_str(), seen.ready), ("wake-1", None));
    report_ready(&client, "wake-1", "True", "2026-11-21T00:00:00Z").await;
    next_for(&mut wakes, "wake-1").await;
    assert_eq!(
        member.node("wake-1").and_then(|node| node.ready),
        Some(true)
    );

    report_ready(&client, "wake-1", "True", "2026-11-21T00:05:00Z").await;
    let uid = node.metadata.uid.expect("a uid");
    nodes::change(&client, "wake-1", &uid, &Scheduling::Cordoned.into())
        .await
        .expect("a cordon");
    next_for(&mut wakes, "wake-1").await;
    assert!(
        member.node("wake-1").is_some_and(|node| node.unschedulable),
        "the heart-beat woke"
    );
    assert_eq!(pending_for(&mut wakes, "wake-1"), 0);

    nodes::delete(&client, "wake-1", &uid)
        .await
        .expect("a deletion");
    next_for(&mut wakes, "wake-1").await;
    assert!(member.node("wake-1").is_none());
    assert!(
        member
            .nodes_by_provider_id("tatara://ssh/wake-1")
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_member_that_was_disconnected_wakes_nobody_even_while_it_is_held() {
    let plane = Plane::shared();
    let client = plane.client().await;
    make_node(&client, "ended-1", "tatara://ssh/ended-1").await;
    let (registry_1, mut wakes_1) = registry();
    let (registry_2, mut wakes_2) = registry();
    let held = registry_1.connect(key("c1"), client.clone());
    let _other = registry_2.connect(key("c1"), client.clone());
    next_for(&mut wakes_1, "ended-1").await;
    next_for(&mut wakes_2, "ended-1").await;
    registry_1.disconnect(&key("c1"));
    assert!(registry_1.get(&key("c1")).is_none());
    patch_node(
        &client,
        "ended-1",
        json!({"metadata": {"labels": {"a": "b"}}}),
    )
    .await;
    next_for(&mut wakes_2, "ended-1").await;
    assert_eq!(pending_for(&mut wakes_1, "ended-1"), 0);
    assert!(
        held.node("ended-1").is_some(),
        "what was last seen stays readable"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn an_api_server_that_goes_and_comes_is_said_and_followed_again() {
    let plane = Plane::own();
    let client = plane.client().await;
    let (registry, mut wakes) = registry();
    let member = registry.connect(key("c1"), client.clone());
    assert_eq!(next(&mut wakes).await, "cluster");
    let healthy = probe(&client, Duration::from_secs(10)).await;
    assert_eq!(healthy.readiness, Readiness::Ready);
    assert!(
        healthy
            .git_version
            .is_some_and(|version| version.starts_with("v1."))
    );

    // etcd stands still: the API server answers, and says which check fails
    let mut pause = plane
        .command(&["pause-etcd"], &["8"])
        .spawn()
        .expect("a pause");
    eventually("a failing etcd check", async || {
        match probe(&client, Duration::from_secs(6)).await.readiness {
            Readiness::Failing(checks) if checks.iter().any(|c| c == "etcd") => Some(()),
            _ => None,
        }
    })
    .await;
    assert!(pause.wait().expect("its end").success());

    plane.run(&["restart-apiserver"], &[]);
    assert_eq!(next(&mut wakes).await, "cluster", "it went");
    assert_eq!(next(&mut wakes).await, "cluster", "it came back");
    assert!(matches!(
        member.connectivity(),
        Connectivity::Connected { .. }
    ));
    make_node(&client, "after-1", "tatara://ssh/after-1").await;
    next_for(&mut wakes, "after-1").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, run by make test"]
async fn a_member_that_does_not_answer_is_said_within_the_timeout() {
    let refused = Config::new("https://127.0.0.1:9".parse().expect("a URL"));
    let client = Client::try_from(client_config(refused)).expect("a client");
    let (registry, mut wakes) = registry();
    let member = registry.connect(key("c1"), client.clone());
    assert_eq!(next(&mut wakes).await, "cluster");
    let Connectivity::Disconnected { why, .. } = member.connectivity() else {
        panic!("{:?}", member.connectivity());
    };
    assert!(why.contains("refused"), "{why}");
    assert!(!member.is_synced());

    // an address for documentation (RFC 5737): nothing answers, not even a refusal
    let silent = Config::new("https://192.0.2.1:6443".parse().expect("a URL"));
    let client = Client::try_from(client_config(silent)).expect("a client");
    let began = Instant::now();
    let health = probe(&client, Duration::from_secs(1)).await;
    assert!(
        matches!(health.readiness, Readiness::Unreachable { .. }),
        "{health:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(3));
}
