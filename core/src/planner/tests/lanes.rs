//! What Machines do one at a time without the turn: who is next.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::names::ANNOTATION_SETTINGS;
use crate::api::{ClusterProviderSpec, Machine};
use crate::machine::AddonsDue;
use crate::planner::{addons, settings::next_to_follow};

const NEW: &str = "v1.36.3";
const OLD: &str = "v1.35.4";

/// A Machine that wants v1.36.3 and runs this, whose Node is Ready; a control plane if its name
/// begins with `cp`.
fn machine(name: &str, runs: &str, annotations: &Value) -> Machine {
    let is_control_plane = name.starts_with("cp");
    let versions = |version: &str| {
        let plane = is_control_plane.then_some(version);
        json!({ "kubelet": version, "controlPlane": plane })
    };
    serde_json::from_value(json!({
        "metadata": { "name": name, "uid": name, "annotations": annotations },
        "spec": { "versions": versions(NEW) },
        "status": { "nodeRef": { "name": name }, "versions": versions(runs), "conditions": [] },
    }))
    .expect("a Machine")
}

fn with_condition(mut machine: Machine, (type_, status, reason): (&str, &str, &str)) -> Machine {
    let condition = json!({
        "type": type_, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-11-30T00:00:00Z",
    });
    let condition = serde_json::from_value(condition).expect("a condition");
    let status = machine.status.as_mut().expect("a status");
    status.conditions.push(condition);
    machine
}

const HEALTHY: (&str, &str, &str) = ("NodeHealthy", "True", "NodeReady");

fn deleted(mut machine: Machine) -> Machine {
    let now = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
    machine.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    machine
}

/// Machines, and which of them has to do what.
type Case = (
    &'static str,
    Vec<Machine>,
    Option<(&'static str, AddonsDue)>,
);

#[test]
fn the_first_control_plane_that_is_ready_and_follows_brings_the_addons_to_their_version() {
    let ready = |name, runs| with_condition(machine(name, runs, &json!({})), HEALTHY);
    let not_ready = |name| machine(name, NEW, &json!({}));
    let mine = |waits_for: Option<&str>| AddonsDue {
        version: NEW.into(),
        waits_for: waits_for.map(str::to_owned),
    };
    let table: [Case; 6] = [
        (
            "by name",
            vec![ready("cp-1", NEW), ready("cp-0", NEW)],
            Some(("cp-0", mine(None))),
        ),
        (
            "one runs an older version",
            vec![ready("cp-0", OLD), ready("cp-1", NEW)],
            Some(("cp-1", mine(Some("cp-0")))),
        ),
        (
            "one is not ready",
            vec![not_ready("cp-0"), ready("cp-1", NEW)],
            Some(("cp-1", mine(None))),
        ),
        (
            "one goes, and is waited for while it runs an older version",
            vec![deleted(ready("cp-0", OLD)), ready("cp-1", NEW)],
            Some(("cp-1", mine(Some("cp-0")))),
        ),
        ("none follows yet", vec![ready("cp-0", OLD)], None),
        ("none is there", vec![], None),
    ];
    for (case, machines, expected) in table {
        for machine in &machines {
            let found = addons::of(machine, NEW, &machines);
            let of = expected
                .as_ref()
                .filter(|(name, _)| machine.metadata.name.as_deref() == Some(*name));
            assert_eq!(
                found.as_ref(),
                of.map(|(_, due)| due),
                "{case}: {:?}",
                machine.metadata.name
            );
        }
    }
    let lone = ready("cp-0", NEW);
    assert_eq!(addons::of(&lone, "no version", [&lone]), None);
}

#[test]
fn one_node_of_a_cluster_follows_the_settings_at_a_time_and_control_planes_first() {
    let spec: ClusterProviderSpec =
        serde_json::from_value(json!({ "kubeletConfiguration": { "maxPods": 50 } }))
            .expect("settings");
    let made = json!({ (ANNOTATION_SETTINGS): json!({ "kubeletConfiguration": {} }).to_string() });
    let applying = json!({ "kubeletConfiguration": {}, "applying": ["kubeletConfiguration"] });
    let begun = json!({ (ANNOTATION_SETTINGS): applying.to_string() });
    let follows = json!({ (ANNOTATION_SETTINGS): json!({ "kubeletConfiguration": { "maxPods": 50 } }).to_string() });
    let behind = |name| with_condition(machine(name, NEW, &made), HEALTHY);
    let table = [
        (
            "control planes first",
            vec![behind("a"), behind("cp-0")],
            Some("cp-0"),
        ),
        ("by name", vec![behind("b"), behind("a")], Some("a")),
        (
            "one that has begun",
            vec![
                behind("cp-0"),
                with_condition(machine("b", NEW, &begun), HEALTHY),
            ],
            Some("b"),
        ),
        (
            "one that has begun is waited for while its Node is not Ready",
            vec![behind("cp-0"), machine("b", NEW, &begun)],
            Some("b"),
        ),
        (
            "before others one whose Node is Ready",
            vec![machine("a", NEW, &made), behind("b")],
            Some("b"),
        ),
        (
            "and whose version runs",
            vec![
                with_condition(machine("a", OLD, &made), HEALTHY),
                behind("b"),
            ],
            Some("b"),
        ),
        (
            "and for which nobody has to act",
            vec![
                with_condition(behind("a"), ("UpToDate", "False", "MarkerMissing")),
                behind("b"),
            ],
            Some("b"),
        ),
        (
            "and that is not paused",
            vec![behind("a-paused"), behind("b")],
            Some("b"),
        ),
        (
            "else one that cannot",
            vec![machine("a", NEW, &made)],
            Some("a"),
        ),
        (
            "none that goes",
            vec![deleted(behind("a")), behind("b")],
            Some("b"),
        ),
        (
            "none of another provider",
            vec![behind("foreign"), behind("z")],
            Some("z"),
        ),
        (
            "all have followed",
            vec![with_condition(machine("a", NEW, &follows), HEALTHY)],
            None,
        ),
    ];
    for (case, machines, expected) in table {
        let machines: Vec<_> = machines.into_iter().map(Arc::new).collect();
        let is =
            |name: &'static str| move |one: &Machine| one.metadata.name.as_deref() == Some(name);
        let next = next_to_follow(&machines, &spec, |one| !is("foreign")(one), is("a-paused"));
        let found = next.and_then(|next| next.metadata.name.clone());
        assert_eq!(found.as_deref(), expected, "{case}");
    }
}
