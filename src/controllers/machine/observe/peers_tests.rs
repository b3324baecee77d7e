use serde_json::{Value, json};

use super::*;
use crate::manager::plane_tests::{ApiServer, Plane, cluster};
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::names::{ANNOTATION_PAUSED, ANNOTATION_SETTINGS, LABEL_CLUSTER};

const OLD: &str = "v1.35.4";
const NEW: &str = "v1.36.3";

/// A Machine of Cluster `c` that wants v1.36.3, and is a control plane if its name says so.
fn machine(name: &str, annotations: &Value, status: &Value) -> Machine {
    let mut versions = json!({"kubelet": NEW});
    if name.starts_with("cp") {
        versions["controlPlane"] = json!(NEW);
    }
    serde_json::from_value(json!({
        "metadata": {
            "namespace": "n", "name": name, "uid": name,
            "labels": {(LABEL_CLUSTER): "c"}, "annotations": annotations,
        },
        "spec": {"versions": versions},
        "status": status,
    }))
    .expect("a Machine")
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!([{"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-27T00:00:00Z"}])
}

/// The status of one that runs these versions (control plane, kubelet), and is updated for this
/// reason.
fn updated(runs: [&str; 2], reason: &str) -> Value {
    json!({
        "nodeRef": {"name": "node"},
        "versions": {"controlPlane": runs[0], "kubelet": runs[1]},
        "conditions": condition("Updating", "True", reason),
    })
}

fn deleted(mut machine: Machine) -> Machine {
    let now = "2026-11-27T00:00:00Z".parse().expect("a time");
    machine.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    machine
}

/// The others of a Machine, of which this one has the turn of an upgrade.
fn others(all: Vec<Machine>, machine: &Machine, turn: Option<&str>) -> Peers {
    let plane = Plane::of(&ApiServer::default());
    plane.stores().clusters.hold(cluster());
    for machine in all {
        plane.stores().machines.hold(machine);
    }
    let turn = turn.map(|holder| Turn {
        machine: holder.into(),
        name: holder.into(),
        action: TurnAction::Upgrade,
    });
    let question = Question {
        machine,
        is_control_plane: machine.is_control_plane(),
        turn: turn.as_ref(),
        settings: None,
        addons_due: None,
        recorded: None,
    };
    let watched = Watched {
        controller: &plane.controllers.machines,
        cluster: &cluster(),
    };
    peers::of(&question, &watched)
}

#[tokio::test]
async fn a_join_waits_for_an_update_while_that_moves_a_version_on_which_it_depends() {
    let begun = json!({(ANNOTATION_SETTINGS): r#"{"applying":{}}"#});
    let made = json!({(ANNOTATION_SETTINGS): "{}"});
    // whether a worker and a control plane wait for it, with the turn of its upgrade and after it
    // returned that
    let table = [
        (
            "kubeadm runs",
            &made,
            updated([OLD, OLD], "KubeadmUpgrade"),
            [[true; 2]; 2],
        ),
        (
            "its kubelet follows",
            &made,
            updated([NEW, OLD], "KubeletUpdate"),
            [[true; 2]; 2],
        ),
        (
            "it is drained, for which a worker may be needed",
            &made,
            updated([NEW, OLD], "Draining"),
            [[false, true]; 2],
        ),
        (
            "it follows settings alone",
            &begun,
            updated([NEW, NEW], "KubeadmUpgrade"),
            [[false; 2]; 2],
        ),
        (
            "nothing is under way",
            &made,
            json!({"nodeRef": {"name": "node"}, "versions": {"controlPlane": NEW, "kubelet": NEW}}),
            [[true; 2], [false; 2]],
        ),
    ];
    for (case, annotations, status, expected) in table {
        let holder = machine("cp-0", annotations, &status);
        let wait = |turn| {
            ["w-0", "cp-1"].map(|name| {
                let joins = machine(name, &json!({}), &json!({}));
                let found = others(vec![holder.clone()], &joins, turn);
                found.versions.updating.as_deref() == Some("cp-0")
            })
        };
        assert_eq!([wait(Some("cp-0")), wait(None)], expected, "{case}");
    }
    let joins = machine("w-0", &json!({}), &json!({}));
    let unknown = others(Vec::new(), &joins, Some("cp-0"));
    assert_eq!(
        unknown.versions.updating.as_deref(),
        Some("cp-0"),
        "not seen yet"
    );
}

#[tokio::test]
async fn nobody_waits_for_the_update_of_one_that_goes_or_of_itself() {
    let status = updated([OLD, OLD], "KubeadmUpgrade");
    let goes = deleted(machine(
        "cp-0",
        &json!({(ANNOTATION_SETTINGS): "{}"}),
        &status,
    ));
    let joins = machine("cp-1", &json!({}), &json!({}));
    assert_eq!(others(vec![goes], &joins, None).versions.updating, None);
    let own = machine("cp-1", &json!({(ANNOTATION_SETTINGS): "{}"}), &status);
    let found = others(vec![own.clone()], &own, Some("cp-1"));
    assert_eq!(found.versions.updating, None);
}

#[tokio::test]
async fn a_worker_that_is_paused_is_not_updated_before_another() {
    let at_work = |name: &str, annotations: Value| {
        machine(
            name,
            &annotations,
            &json!({
                "nodeRef": {"name": name}, "versions": {"kubelet": OLD},
                "conditions": condition("Updating", "True", "KubeletUpdate"),
            }),
        )
    };
    let second = at_work("w-1", json!({}));
    let first = others(vec![at_work("w-0", json!({}))], &second, None);
    assert_eq!(first.lane.drained_after.as_deref(), Some("w-0"));
    let paused = at_work("w-0", json!({(ANNOTATION_PAUSED): ""}));
    assert_eq!(others(vec![paused], &second, None).lane.drained_after, None);
}
