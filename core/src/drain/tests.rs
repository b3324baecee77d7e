use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-11-21T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

/// What becomes of one pod, as one word.
fn fate(change: Value, unreachable: bool) -> String {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": {}},
        "status": {"phase": "Running"},
    });
    merge(&mut pod, change);
    let pods = [serde_json::from_value::<Pod>(pod).expect("a Pod")];
    let plan = plan(&pods, unreachable, now());
    match (
        plan.evict.len(),
        plan.terminating.len() + plan.completing.len(),
        plan.skipped.as_slice(),
    ) {
        (0, 1, []) if !plan.completing.is_empty() => "complete".into(),
        (1, 0, []) => "evict".into(),
        (0, 1, []) => "wait".into(),
        (0, 0, [(_, skip)]) => format!("{skip:?}"),
        _ => panic!("{plan:?}"),
    }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn owned_by(kind: &str, api_version: &str, controller: bool) -> Value {
    json!({"metadata": {"ownerReferences": [
        {"kind": kind, "apiVersion": api_version, "name": "o", "uid": "o", "controller": controller}]}})
}

fn deleted_at(time: &str) -> Value {
    json!({"metadata": {"deletionTimestamp": time}})
}

#[test]
fn each_pod_has_the_fate_that_the_rules_give_it() {
    let table = [
        (json!({}), "evict"),
        (owned_by("ReplicaSet", "apps/v1", true), "evict"),
        (owned_by("DaemonSet", "apps/v1", true), "DaemonSet"),
        (owned_by("DaemonSet", "apps/v1", false), "evict"),
        (owned_by("DaemonSet", "apps.example.com/v1", true), "evict"),
        (
            json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "h"}}}),
            "Static",
        ),
        (json!({"status": {"phase": "Succeeded"}}), "Finished"),
        (json!({"status": {"phase": "Failed"}}), "Finished"),
        (json!({"status": {"phase": "Pending"}}), "evict"),
        (
            json!({"metadata": {"labels": {"tatara.dev/drain": "skip"}}}),
            "Label",
        ),
        (
            json!({"metadata": {"labels": {"tatara.dev/drain": "other"}}}),
            "evict",
        ),
        (
            json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "skip"}}}),
            "Label",
        ),
        (
            json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "wait-completed"}}}),
            "complete",
        ),
        (
            json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "wait-completed"}}, "status": {"phase": "Succeeded"}}),
            "Finished",
        ),
        (
            json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "WaitCompleted"}}}),
            "complete",
        ),
        (
            json!({"metadata": {"labels": {"cluster.x-k8s.io/drain": "other"}}}),
            "evict",
        ),
    ];
    for (change, expected) in table {
        for unreachable in [false, true] {
            assert_eq!(
                fate(change.clone(), unreachable),
                expected,
                "{change}, {unreachable}"
            );
        }
    }
}

#[test]
fn a_pod_that_is_being_deleted_is_waited_for_unless_its_node_cannot_confirm() {
    let table = [
        ("2026-11-21T12:00:30Z", false, "wait"),
        ("2026-11-21T11:00:00Z", false, "wait"),
        ("2026-11-21T12:00:30Z", true, "wait"),
        ("2026-11-21T11:59:59Z", true, "wait"),
        ("2026-11-21T11:59:58Z", true, "Unconfirmed"),
    ];
    for (killed_at, unreachable, expected) in table {
        assert_eq!(
            fate(deleted_at(killed_at), unreachable),
            expected,
            "{killed_at}"
        );
    }
}

fn pod(name: &str) -> PodRef {
    PodRef {
        namespace: "default".into(),
        name: name.into(),
        uid: String::new(),
    }
}

fn held(name: &str, budgets: &[(&str, i32)]) -> BlockedPod {
    BlockedPod {
        pod: pod(name),
        budgets: budgets
            .iter()
            .map(|&(name, disruptions_allowed)| Budget {
                name: name.into(),
                disruptions_allowed,
            })
            .collect(),
        message: "the API server's words".into(),
    }
}

#[test]
fn the_sentence_names_who_must_do_something_first_and_counts_the_rest() {
    let mut progress = DrainProgress::default();
    assert_eq!(progress.to_string(), "no pods left");
    progress.blocked = vec![held("web-1", &[("web", 0)])];
    assert_eq!(
        progress.to_string(),
        "1 pod left: eviction of default/web-1 is blocked by PodDisruptionBudget default/web (0 disruptions allowed). \
         Let the budget allow an eviction, in that cluster: more replicas, a higher maxUnavailable or a lower minAvailable; \
         spec.deletion.nodeDrainTimeoutSeconds of the Machine ends the wait: the pods of a deleted one are then killed with it, and its volumes are not waited for"
    );
    progress.waiting = vec![(pod("job"), "is terminating".into())];
    assert!(
        progress
            .to_string()
            .starts_with("2 pods left: eviction of default/web-1 is blocked")
    );
    assert!(
        progress
            .to_string()
            .contains("; default/job is terminating. Let the budget allow")
    );
    progress.blocked.push(held("web-2", &[]));
    assert!(
        progress
            .to_string()
            .contains("default/web-2 cannot be evicted: the API server's words")
    );
    progress.blocked.push(held("web-3", &[("a", 1), ("b", 0)]));
    assert!(
        progress
            .to_string()
            .contains("PodDisruptionBudgets a, b of default")
    );
    progress.evicted = (0..3).map(|n| pod(&format!("e{n}"))).collect();
    let sentence = progress.to_string();
    assert!(sentence.starts_with("7 pods left: "), "{sentence}");
    assert!(
        sentence.contains(
            "default/e0 was evicted and is terminating; and 2 more. \
             Leave each pod to one PodDisruptionBudget: correct the selectors, or ask the owner of one to delete it. Let the budget"
        ),
        "{sentence}"
    );
    assert!(!progress.is_done());
}

#[test]
fn budgets_and_pods_that_complete_hold_no_release_that_ends_them_and_an_eviction_is_waited_for() {
    let mut progress = DrainProgress {
        blocked: vec![held("web-1", &[("web", 0)])],
        completing: vec![pod("job")],
        ..DrainProgress::default()
    };
    let said = progress.ended_by_release("n").expect("nothing else holds");
    assert!(said.contains("default/web-1, default/job"), "{said}");
    assert!(
        said.contains("PodDisruptionBudgets are not waited for"),
        "{said}"
    );
    assert!(progress.to_string().contains("default/job completes"));
    progress.evicted = vec![pod("e")];
    assert_eq!(progress.ended_by_release("n"), None);
}

#[test]
fn a_pod_is_held_by_something_once_its_grace_period_is_over() {
    let at = |time: &str| time.parse::<Timestamp>().expect("a time");
    let later = waits_for(at("2026-11-21T12:00:30Z"), now());
    assert_eq!(
        later,
        "is terminating, and is killed at 2026-11-21T12:00:30Z"
    );
    let over = waits_for(at("2026-11-21T11:59:30Z"), now());
    assert!(over.starts_with("should have ended at 2026-11-21T11:59:30Z"));
}
