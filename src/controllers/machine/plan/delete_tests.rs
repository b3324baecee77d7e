use std::sync::Arc;

use serde_json::{Value, json};

use super::super::super::observed::{Contact, ObservedCluster, Refusal, SpecProblem};
use super::*;
use crate::api::cluster::ClusterNetwork;
use crate::node::Marker;
use crate::provider::follow::Attempts;
use crate::workload::NodeView;

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().expect("a time")
}

/// A Machine deleted at 12:00:00 whose Cluster stays, with Node `n`.
fn observed(change: Value, placement: Placement) -> Observed {
    let mut machine = json!({
        "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "default", "uid": "u", "finalizers": [FINALIZER_MACHINE],
            "deletionTimestamp": "2026-11-21T12:00:00Z"},
        "spec": {"providerSpec": {}, "versions": {"kubelet": "v1.36.3"}},
    });
    if let Some(spec) = change.as_object() {
        machine["spec"]
            .as_object_mut()
            .expect("a spec")
            .extend(spec.clone());
    }
    let cluster = ObservedCluster {
        name: "c".into(),
        uid: "c".into(),
        network: ClusterNetwork::default(),
        spec: Err(String::new()),
        paused: false,
        deleting: false,
        initialized_by: Some("first".into()),
        turn: None,
        certificates_ready: true,
        external: false,
        endpoint: None,
        version: None,
        workers_left: 0,
    };
    let node: k8s_openapi::api::core::v1::Node =
        serde_json::from_value(json!({"metadata": {"name": "n", "uid": "nu"}})).expect("a Node");
    Observed {
        machine: Arc::new(serde_json::from_value(machine).expect("a Machine")),
        marker: Marker {
            uid: "u".into(),
            ..Marker::default()
        },
        cluster: Some(cluster),
        spec: Err(SpecProblem {
            foreign: false,
            reason: "None",
            message: String::new(),
        }),
        resolved: None,
        placement,
        node: Seen::Known(Some(Arc::new(NodeView::from_node(node)))),
        follow: None,
        has_token: false,
        attempts: Attempts::default(),
    }
}

fn released_and(silent_since: Option<&str>) -> Placement {
    Placement::Held(Held {
        name: "h".into(),
        address: None,
        releasing: true,
        contact: Contact::NotAsked,
        silent_since: silent_since.map(at),
    })
}

fn said(plan: &Plan) -> (&str, &str) {
    let finding = plan.findings.first().expect("a finding");
    (finding.reason, &finding.message)
}

fn limit(seconds: i64) -> Value {
    json!({"deletion": {"hostReleaseTimeoutSeconds": seconds}})
}

#[test]
fn a_host_that_is_being_reset_is_waited_for_whatever_the_limit() {
    let plan = plan(&observed(limit(1), released_and(None)), at("20:00:00"));
    assert_eq!(said(&plan).0, "WaitingForHost");
    assert_eq!((plan.actions.len(), plan.next), (0, Next::OnChange));
}

#[test]
fn the_node_of_a_silent_host_is_kept_and_what_is_unsafe_is_said() {
    let silent = released_and(Some("12:01:00"));
    let plan = plan(&observed(json!({}), silent), at("20:00:00"));
    let (reason, message) = said(&plan);
    assert_eq!(reason, "HostUnreachable");
    for part in [
        "Host h does not answer since 2026-11-21T12:01:00Z",
        "Node n is kept",
        "set spec.deletion.hostReleaseTimeoutSeconds",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!((plan.actions.len(), plan.next), (0, Next::OnChange));
}

#[test]
fn the_limit_runs_from_the_silence_and_from_the_deletion() {
    let table = [
        ("11:00:00", "12:00:59", false),
        ("11:00:00", "12:01:00", true),
        ("12:05:00", "12:05:59", false),
        ("12:05:00", "12:06:00", true),
    ];
    for (silent, now, goes) in table {
        let plan = plan(&observed(limit(60), released_and(Some(silent))), at(now));
        if goes {
            let node = Action::DeleteNode {
                node: "n".into(),
                uid: "nu".into(),
            };
            assert_eq!(plan.actions, [node, Action::RemoveFinalizer], "{now}");
        } else {
            assert_eq!(plan.actions, [], "{now}");
            assert_eq!(plan.next, Next::After(Duration::from_secs(1)), "{now}");
        }
    }
}

#[test]
fn a_limit_of_zero_is_none() {
    let silent = released_and(Some("12:00:00"));
    let plan = plan(&observed(limit(0), silent), at("23:00:00"));
    assert_eq!(said(&plan).0, "HostUnreachable");
}

#[test]
fn in_a_cluster_that_goes_nothing_is_drained_and_no_node_is_deleted() {
    let held = Placement::Held(Held {
        name: "h".into(),
        address: None,
        releasing: false,
        contact: Contact::NotAsked,
        silent_since: None,
    });
    let mut world = observed(json!({}), held);
    world.cluster.as_mut().expect("a cluster").deleting = true;
    assert_eq!(plan(&world, at("12:00:01")).actions, [Action::Release]);
    let nothing = Refusal {
        reason: "None",
        message: String::new(),
    };
    world.placement = Placement::None(Err(nothing));
    assert_eq!(
        plan(&world, at("12:00:01")).actions,
        [Action::RemoveFinalizer]
    );
}

#[test]
fn a_control_plane_waits_for_its_cluster_and_then_for_the_last_worker() {
    let nothing = || {
        Placement::None(Err(Refusal {
            reason: "None",
            message: String::new(),
        }))
    };
    let versions = json!({"versions": {"kubelet": "v1.36.3", "controlPlane": "v1.36.3"}});
    let mut world = observed(versions, nothing());
    world.cluster.as_mut().expect("a cluster").initialized_by = Some("u".into());
    assert_eq!(said(&plan(&world, at("12:00:01"))).0, "LastControlPlane");
    let cluster = world.cluster.as_mut().expect("a cluster");
    (cluster.deleting, cluster.workers_left) = (true, 1);
    assert_eq!(said(&plan(&world, at("12:00:01"))).0, "WaitingForWorkers");
    world.cluster.as_mut().expect("a cluster").workers_left = 0;
    assert_eq!(said(&plan(&world, at("12:00:01"))).0, "Finishing");
}
