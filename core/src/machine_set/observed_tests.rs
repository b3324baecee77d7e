use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use super::*;

const NOW: &str = "2026-11-21T00:00:00Z";

#[allow(clippy::needless_pass_by_value)] // called with json! at every place
fn machine(status: Value) -> Machine {
    let machine = json!({
        "metadata": {"name": "m", "uid": "1", "creationTimestamp": "2026-11-20T00:00:00Z"},
        "spec": {"versions": {"kubelet": "v1.36.3"}},
        "status": status,
    });
    serde_json::from_value(machine).expect("a Machine")
}

fn condition(type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "reason": "X", "message": "", "lastTransitionTime": NOW})
}

fn seen(status: Value) -> ObservedMachine {
    ObservedMachine::from_api(&machine(status), "set")
}

#[test]
fn a_machine_is_ready_since_its_condition_turned_true() {
    let ready = seen(json!({"conditions": [condition("Ready", "True")], "nodeRef": {"name": "n"}}));
    assert_eq!(ready.ready_since, Some(NOW.parse().expect("a time")));
    assert!(ready.has_node && !ready.failed);
    for status in ["False", "Unknown"] {
        assert_eq!(
            seen(json!({"conditions": [condition("Ready", status)]})).ready_since,
            None
        );
    }
}

#[test]
fn a_terminal_error_or_a_failed_health_check_is_a_failure() {
    let failures = [
        json!({"phase": "Failed"}),
        json!({"errorReason": "CreateError"}),
        json!({"conditions": [condition("Healthy", "False")]}),
        json!({"conditions": [condition("HealthCheckSucceeded", "False")]}),
    ];
    for status in failures {
        assert!(seen(status.clone()).failed, "{status}");
    }
    for status in [
        json!({"phase": "Running"}),
        json!({"conditions": [condition("Healthy", "Unknown")]}),
    ] {
        assert!(!seen(status.clone()).failed, "{status}");
    }
}

#[test]
fn a_node_that_cannot_be_seen_is_not_called_not_ready() {
    let node = json!({"name": "n"});
    let status =
        |value: &str| json!({"conditions": [condition("NodeHealthy", value)], "nodeRef": node});
    assert!(seen(status("False")).not_ready_since.is_some());
    assert_eq!(seen(status("Unknown")).not_ready_since, None);
    let waiting = json!({"conditions": [condition("NodeHealthy", "False")]});
    assert_eq!(seen(waiting).not_ready_since, None, "it has no Node yet");
}

#[test]
fn only_the_controlling_owner_counts() {
    let owner = |uid: &str, controller| OwnerReference {
        uid: uid.into(),
        controller,
        ..OwnerReference::default()
    };
    let of = |owners: Vec<OwnerReference>| {
        let meta = ObjectMeta {
            owner_references: Some(owners),
            ..ObjectMeta::default()
        };
        Owner::of(&meta, "set")
    };
    assert_eq!(of(vec![]), Owner::Orphan);
    assert_eq!(of(vec![owner("cluster", None)]), Owner::Orphan);
    assert_eq!(
        of(vec![owner("cluster", None), owner("set", Some(true))]),
        Owner::Ours
    );
    assert_eq!(of(vec![owner("other", Some(true))]), Owner::Other);
}

#[test]
fn the_resolved_provider_spec_stands_inline_and_an_unresolved_one_is_a_gate() {
    let set = json!({
        "metadata": {"name": "ms", "uid": "set"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"providerSpec":
            {"valueFrom": {"machineClass": {"name": "large"}}}}}},
    });
    let set: MachineSet = serde_json::from_value(set).expect("a MachineSet");
    let resolved = Observed::from_api(&set, Ok(json!({"kind": "X"})), None, Vec::new());
    assert_eq!(
        resolved.template.spec.provider_spec.value,
        Some(json!({"kind": "X"}))
    );
    assert_eq!(resolved.template.spec.provider_spec.value_from, None);
    let gate = Gate {
        reason: Reason::MachineClassMissing,
        message: "large".into(),
    };
    assert_eq!(
        Observed::from_api(&set, Err(gate.clone()), None, Vec::new()).gate,
        Some(gate)
    );
}
