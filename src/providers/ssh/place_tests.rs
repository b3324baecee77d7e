use serde_json::{Value, json};

use super::*;

/// A Host of namespace "a" with this status.
fn host(name: &str, status: &Value) -> Host {
    let manifest = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
        "metadata": {"namespace": "a", "name": name, "uid": name},
        "spec": {"ssh": {"address": name, "credentialsRef": {"name": "key"}}}, "status": status});
    serde_json::from_value(manifest).unwrap()
}

fn orphan(marker: &Value) -> Value {
    json!({"marker": marker, "conditions": [{"type": "Clean", "status": "False", "reason": "Orphaned", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

#[test]
fn a_machine_is_perhaps_on_an_orphan_with_its_marker_or_with_one_that_is_not_told() {
    let of = |status: Value, uid: &str| {
        let hosts = Kind::<Host>::default();
        hosts.hold(host("free", &json!({})));
        hosts.hold(host("h", &status));
        perhaps_marked(&hosts, "a", uid)
    };
    let m = json!({"namespace": "a", "name": "m", "uid": "1"});
    assert_eq!(of(orphan(&m), "1").as_deref(), Some("h"));
    assert_eq!(of(orphan(&m), "2"), None);
    assert_eq!(of(orphan(&Value::Null), "2").as_deref(), Some("h"));
    assert_eq!(of(json!({}), "1"), None);
}

#[test]
fn that_a_host_is_anothers_is_read_also_where_it_is_silent_since() {
    let of = |status: &str, reason: &str| {
        let condition = |type_: &str, status: &str, reason: &str| {
            json!({"type": type_, "status": status, "reason": reason, "message": "words",
                "lastTransitionTime": "2027-01-15T08:00:00Z"})
        };
        let silent = condition("Reachable", "False", "SshUnreachable");
        let clean = condition("Clean", status, reason);
        let host = host("h", &json!({ "conditions": [silent, clean] }));
        assert!(matches!(stuck(&host), Some(Stuck::Silent(_))));
        strange(&host)
    };
    assert_eq!(of("False", "Orphaned").as_deref(), Some("words"));
    assert_eq!(of("False", "Occupied").as_deref(), Some("words"));
    assert_eq!(of("True", "InUse"), None);
    assert_eq!(of("False", "ResetFailed"), None);
    assert_eq!(strange(&host("new", &json!({}))), None);
}

#[test]
fn what_keeps_a_host_from_its_reset_is_read_from_its_conditions() {
    let of = |reason: &str| {
        let available = json!({"type": "Available", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z"});
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}},
            "status": {"conditions": [available]}});
        stuck(&serde_json::from_value(host).unwrap())
    };
    for (reason, expected) in [
        ("Resetting", None),
        ("Fencing", None),
        ("Freeing", None),
        ("ResetFailed", Some(Stuck::ResetFails)),
        ("FencingFailed", Some(Stuck::ResetFails)),
        ("ReinstallWaits", Some(Stuck::ResetFails)),
        ("WaitingForStep", Some(Stuck::Waits)),
        ("NotReset", Some(Stuck::ResetFails)),
        ("LastControlPlane", None),
        ("Orphaned", Some(Stuck::LeftAlone)),
        ("Occupied", Some(Stuck::LeftAlone)),
        ("Paused", Some(Stuck::LeftAlone)),
        ("Retained", Some(Stuck::Retained)),
    ] {
        assert_eq!(of(reason), expected, "{reason}");
    }
}
