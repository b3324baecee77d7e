use crate::api::conditions::{ConditionType, Reason};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::AttemptRecord;
use crate::api::given_up::AbandonError;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// A Hypervisor whose gateway answers, with what is merged into its metadata.
fn observed(metadata: &Value) -> Observed {
    let mut object = json!({
        "apiVersion": "tatara.dev/v1alpha1", "kind": "Hypervisor",
        "metadata": { "name": "hypervisor-a", "namespace": "default" },
        "spec": { "url": "https://10.0.0.5:8774", "credentialsRef": { "name": "gateway" } },
    });
    for (name, value) in metadata.as_object().expect("metadata") {
        object["metadata"][name] = value.clone();
    }
    Observed {
        hypervisor: Arc::new(serde_json::from_value(object).expect("a Hypervisor")),
        gateway: Ok(View::with(Connectivity::Connected)),
        machines: Vec::new(),
        orphans: Vec::new(),
        given_up: Ok(Vec::new()),
    }
}

fn abandoned(uid: &str) -> AbandonedMachine {
    AbandonedMachine {
        uid: uid.to_owned(),
        name: format!("w-{uid}"),
        is_machine: false,
        is_anothers: false,
        tried: AttemptRecord::default(),
    }
}

fn with(given_up: Vec<AbandonedMachine>) -> Observed {
    Observed {
        given_up: Ok(given_up),
        ..observed(&json!({}))
    }
}

fn ended(observed: &Observed) -> Vec<String> {
    let actions = plan(observed, at(0)).actions.into_iter();
    actions
        .filter_map(|action| match action {
            Action::End { uid, .. } => Some(uid),
            Action::Hold(_) => None,
        })
        .collect()
}

fn known(observed: &Observed) -> (&'static str, String) {
    let findings = plan(observed, at(0)).findings;
    let known = findings
        .into_iter()
        .find(|f| f.condition == "MachinesKnown");
    known.map_or(("", String::new()), |f| (f.reason().as_str(), f.message()))
}

#[test]
fn what_was_given_up_is_ended_when_the_gateway_answers_and_nothing_else_is() {
    let connected = with(vec![abandoned("a"), abandoned("b")]);
    assert_eq!(ended(&connected), ["a", "b"]);
    let (reason, message) = known(&connected);
    assert_eq!(reason, "EndingGivenUp");
    assert!(message.contains("w-a (a)"), "{message}");
    for connectivity in [
        Connectivity::Connecting,
        Connectivity::Disconnected {
            since: at(0),
            reason: Reason::HypervisorUnreachable,
            why: "no route".into(),
        },
    ] {
        let mut away = connected.clone();
        away.gateway = Ok(View::with(connectivity));
        assert_eq!(ended(&away), [""; 0]);
        assert_eq!(known(&away).0, "EndingGivenUp", "it is said all the time");
    }
    let paused = json!({ "annotations": { ANNOTATION_PAUSED: "" } });
    let paused = Observed {
        given_up: Ok(vec![abandoned("a")]),
        ..observed(&paused)
    };
    assert_eq!(ended(&paused), [""; 0]);

    // without a Machine and never given up: it may be a live node
    let orphan = Observed {
        orphans: vec![("c".into(), "w-c".into())],
        ..observed(&json!({}))
    };
    assert_eq!(ended(&orphan), [""; 0]);
    let (reason, message) = known(&orphan);
    assert_eq!(reason, "Orphaned");
    for part in [
        "jsonpath='{.data.ca\\.crt}' | base64 -d >hypervisor-a-gateway-ca.crt && curl -f",
        "/v1/machines/c",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(known(&observed(&json!({}))), ("AllKnown", String::new()));
}

#[test]
fn a_machine_that_exists_and_what_is_somebody_elses_are_left_alone() {
    let exists = AbandonedMachine {
        is_machine: true,
        ..abandoned("a")
    };
    let theirs = AbandonedMachine {
        is_anothers: true,
        ..abandoned("b")
    };
    let observed = with(vec![exists, theirs, abandoned("c")]);
    assert_eq!(ended(&observed), ["c"]);
    let (_, message) = known(&observed);
    assert!(message.contains("its Machine still exists"), "{message}");
    assert!(message.contains("left alone"), "{message}");
}

#[test]
fn what_cannot_be_ended_is_tried_again_at_growing_intervals_and_says_why() {
    let tried = |last| AbandonedMachine {
        tried: AttemptRecord {
            times: 3,
            last: Some(at(last)),
            refused: Some(Finding::no(
                ConditionType::MachinesKnown,
                Reason::EndingGivenUp,
                "its pool is off",
            )),
            ..AttemptRecord::default()
        },
        ..abandoned("a")
    };
    let waits = with(vec![tried(-1), abandoned("b")]);
    assert_eq!(ended(&waits), ["b"], "it costs the others nothing");
    let wait = backoff::delay(3, 1.0).saturating_sub(std::time::Duration::from_secs(1));
    assert_eq!(plan(&waits, at(0)).next, Next::After(wait));
    assert!(known(&waits).1.contains("its pool is off"));
    assert_eq!(ended(&with(vec![tried(-60)])), ["a"]);
}

#[test]
fn an_annotation_that_cannot_be_read_is_said_and_ends_nothing() {
    let unreadable = Observed {
        given_up: Err(AbandonError::Unreadable),
        ..observed(&json!({}))
    };
    assert_eq!(ended(&unreadable), [""; 0]);
    assert_eq!(known(&unreadable).0, "GivenUpUnreadable");
}

#[test]
fn messages_name_a_few_whatever_there_is() {
    let many = with((0..400).map(|n| abandoned(&n.to_string())).collect());
    let (_, message) = known(&many);
    assert!(
        message.contains(", and 390 more. Bring it back"),
        "{message}"
    );
    let names = (0..400).map(|n| (n.to_string(), "x".repeat(1 << 10)));
    let orphans = Observed {
        orphans: names.collect(),
        ..observed(&json!({}))
    };
    let (_, message) = known(&orphans);
    assert!(message.len() < 2000, "{} bytes", message.len());
    assert!(message.contains("-X DELETE"), "{message}");
}

#[test]
fn what_a_gateway_calls_a_virtual_machine_stands_in_no_command_unless_it_is_an_id() {
    for (id, shown) in [("c", "c"), ("c; reboot", "NAME"), ("$(reboot)", "NAME")] {
        let orphan = Observed {
            orphans: vec![(id.into(), "w".into())],
            ..observed(&json!({}))
        };
        let (_, said) = known(&orphan);
        assert!(said.ends_with(&format!("/v1/machines/{shown}")), "{said}");
    }
}

#[test]
fn programs_that_know_no_hypervisor_tell_its_states_apart() {
    let found = |observed: &Observed| plan(observed, at(0)).findings;
    let is = |connectivity| Observed {
        gateway: Ok(View::with(connectivity)),
        ..observed(&json!({}))
    };
    let away = |reason| {
        is(Connectivity::Disconnected {
            since: at(0),
            reason,
            why: "why".into(),
        })
    };
    let without = Observed {
        gateway: Err(crate::Why::new(Reason::CredentialMissing, "why")),
        ..observed(&json!({}))
    };
    let mut kept = observed(&json!({}));
    Arc::make_mut(&mut kept.hypervisor).spec.maintenance = true;
    let held = observed(&json!({ "annotations": { ANNOTATION_PAUSED: "" } }));
    let deleted = observed(&json!({ "deletionTimestamp": at(0).to_string() }));
    let torn = Observed {
        given_up: Err(AbandonError::Unreadable),
        ..observed(&json!({}))
    };
    crate::kstatus::tests::check(&[
        (
            "connecting",
            &found(&is(Connectivity::Connecting)),
            "InProgress",
        ),
        ("it answers", &found(&observed(&json!({}))), "Current"),
        (
            "it is away",
            &found(&away(Reason::HypervisorUnreachable)),
            "InProgress",
        ),
        (
            "its token has expired",
            &found(&away(Reason::TokenExpired)),
            "Failed",
        ),
        ("its Secret may come", &found(&without), "InProgress"),
        ("kept back", &found(&kept), "Current"),
        ("held still", &found(&held), "Current"),
        (
            "it cannot be read what was given up",
            &found(&torn),
            "Failed",
        ),
        ("mended", &found(&observed(&json!({}))), "Current"),
        ("being deleted", &found(&deleted), "InProgress"),
    ]);
}
