use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::status_write::CALM;

const NOW: Duration = Duration::ZERO;

fn said(phase: &str, conditions: &[(&str, &str, &str)], more: &Value) -> MachineStatus {
    let condition = |(type_, status, reason): &(&str, &str, &str)| {
        json!({ "type": type_, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-29T08:00:00Z" })
    };
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    let mut status = more.clone();
    status["phase"] = json!(phase);
    status["conditions"] = json!(conditions);
    serde_json::from_value(status).expect("a status")
}

#[test]
fn what_a_machine_passes_through_waits_and_what_others_read_does_not() {
    let empty = json!({});
    let at = json!({ "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }] });
    let node = json!({ "nodeRef": { "name": "m" } });
    let unready = [("NodeHealthy", "Unknown", "Starting")];
    let runs = [("Ready", "True", "NodeReady")];
    let updates = [runs[0], ("Updating", "True", "Draining")];
    let drained = [("Draining", "True", "Draining")];
    let of = said;
    let under_way = of("Provisioning", &unready, &empty);
    // case, before, after, of a worker, of a control plane
    for (case, old, new, worker, control_plane) in [
        (
            "another phase on the way",
            &under_way,
            of("Bootstrapping", &[("Ready", "False", "Starting")], &empty),
            CALM,
            CALM,
        ),
        (
            "its address",
            &under_way,
            of("Bootstrapping", &unready, &at),
            CALM,
            NOW,
        ),
        (
            "what it asks the turn for",
            &under_way,
            of(
                "Bootstrapping",
                &unready,
                &json!({ "turnRequest": { "action": "join", "since": "2026-11-29T08:00:00Z" } }),
            ),
            NOW,
            NOW,
        ),
        (
            "its Node appears",
            &under_way,
            of("NotReady", &unready, &node),
            WORDS,
            NOW,
        ),
        (
            "its Node is Ready",
            &under_way,
            of("Running", &runs, &node),
            NOW,
            NOW,
        ),
        (
            "one that runs is updated",
            &of("Running", &runs, &node),
            of("Updating", &updates, &node),
            NOW,
            NOW,
        ),
        (
            "it is deleted",
            &of("Running", &runs, &node),
            of("Deleting", &drained, &node),
            CALM,
            CALM,
        ),
        (
            "its drain is over",
            &of("Deleting", &drained, &node),
            of("Deleting", &[], &node),
            NOW,
            NOW,
        ),
        (
            "a warning on the way",
            &under_way,
            of(
                "Provisioning",
                &[("Ready", "False", "SshUnreachable")],
                &empty,
            ),
            NOW,
            NOW,
        ),
    ] {
        let times = [false, true].map(|is_plane| holds_back(is_plane, old, &new));
        assert_eq!(times, [worker, control_plane], "{case}");
    }
}
