mod foreign;
mod installation;
mod power;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::observed::Owner as Known;
use super::super::twins::Twins;
use super::*;
use crate::api::Host;
use crate::api::conditions::Status;
use crate::api::host::HostFacts;
use crate::node::{Failure, Owner, Progress, SoftwareVersions, UnitState, UnitStatus};
use crate::provider::follow::Attempts;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn marker(management: &str, uid: &str) -> Marker {
    Marker {
        management: management.into(),
        namespace: "default".into(),
        cluster: "a".into(),
        machine: "w-0".into(),
        uid: uid.into(),
    }
}

fn marked(management: &str, uid: &str) -> Ownership {
    Ownership::Owner(Owner {
        marker: marker(management, uid),
        initialized: false,
        joined: false,
    })
}

fn seen(owner: Ownership) -> Observation {
    Observation {
        clock: 0,
        facts: HostFacts::default(),
        owner,
        occupied: Vec::new(),
        units: Vec::new(),
        versions: SoftwareVersions::default(),
        kubelet_active: false,
        installation: None,
    }
}

/// Host `h0` with these changes, which says this.
fn observed(change: &Value, contact: Contact) -> Observed {
    let mut manifest = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": { "name": "h0", "namespace": "default", "uid": "h0" },
        "spec": { "ssh": { "address": "192.0.2.10", "credentialsRef": { "name": "fleet-key" } } },
    });
    for part in ["metadata", "spec"] {
        for (name, value) in change[part].as_object().into_iter().flatten() {
            manifest[part][name] = value.clone();
        }
    }
    let host: Host = serde_json::from_value(manifest).expect("a Host");
    Observed {
        host: Arc::new(host),
        management: "here".into(),
        twins: Twins::default(),
        contact,
        bmc: None,
        is_missed: false,
        first_contact_keys: Vec::new(),
        following: None,
        owner: Known::Unknown,
        consumer_exists: true,
        attempts: Attempts::default(),
        has_media: true,
        installation: None,
    }
}

fn claim(uid: &str, releasing: bool) -> Value {
    json!({ "spec": { "consumerRef": { "name": "w-0", "uid": uid, "cluster": "a", "releasing": releasing } } })
}

fn saying(change: &Value, owner: Ownership) -> Observed {
    observed(change, Contact::Seen(Box::new(seen(owner))))
}

fn occupied(mut observed: Observed) -> Observed {
    if let Contact::Seen(seen) = &mut observed.contact {
        let line = "finding: kubelet: /var/lib/kubelet is not empty; remedy: remove it";
        seen.occupied = vec![crate::node::Finding::from(line.to_owned())];
    }
    observed
}

fn finding<'a>(plan: &'a Plan, condition: &str) -> &'a Finding {
    let found = plan.findings.iter().find(|f| f.condition == condition);
    found.unwrap_or_else(|| panic!("no {condition} in {:#?}", plan.findings))
}

#[track_caller]
fn expect(case: &str, plan: &Plan, state: State, actions: &[Action], reason: &str, says: &[&str]) {
    assert_eq!(plan.state, state, "{case}");
    assert_eq!(plan.actions, actions, "{case}");
    let available = finding(plan, "Available");
    assert_eq!(available.reason, reason, "{case}");
    for part in says {
        let message = &available.message;
        assert!(
            message.contains(part),
            "{case}: no \"{part}\" in: {message}"
        );
    }
}

#[test]
fn a_clean_host_is_available_claimed_or_freed() {
    let nobody = || Ownership::Nobody;
    let maintenance = json!({ "spec": { "maintenance": true } });
    let cases: [(&str, Value, State, &[Action], &str); 4] = [
        ("free", json!({}), State::Available, &[], "Available"),
        ("claimed", claim("m", false), State::Claimed, &[], "Claimed"),
        (
            "let go",
            claim("m", true),
            State::Releasing,
            &[Action::Free],
            "Freeing",
        ),
        (
            "kept back",
            maintenance,
            State::Maintenance,
            &[],
            "Maintenance",
        ),
    ];
    for (case, change, state, actions, reason) in cases {
        let plan = plan(&saying(&change, nobody()), at(0));
        expect(case, &plan, state, actions, reason, &[]);
        assert_eq!(finding(&plan, "Clean").status, Status::True, "{case}");
    }
}

#[test]
fn a_claim_whose_machine_is_gone_says_how_to_get_the_host_back() {
    let mut observed = observed(&claim("m", false), Contact::NotAsked);
    observed.consumer_exists = false;
    let says = ["Machine w-0", "patch host h0", "\"releasing\":true"];
    expect(
        "gone",
        &plan(&observed, at(0)),
        State::Claimed,
        &[],
        "MachineGone",
        &says,
    );
}

fn step() -> Progress {
    Progress {
        step: "kubeadm-reset".into(),
        index: 1,
        total: 3,
    }
}

#[test]
fn a_released_host_is_reset_until_it_is_clean() {
    let failed = UnitState::Failed(Failure {
        at: step(),
        exit_code: 1,
        findings: Vec::new(),
        output: "device busy".into(),
    });
    let reset = [Action::Reset(marker("here", "m"))];
    let cases = [
        (None, State::Releasing, "Resetting"),
        (
            Some(UnitState::Running(step())),
            State::Releasing,
            "Resetting",
        ),
        (
            Some(UnitState::Interrupted(step())),
            State::Releasing,
            "Resetting",
        ),
        (Some(UnitState::Succeeded), State::Releasing, "Resetting"),
        (Some(failed), State::Quarantined, "ResetFailed"),
    ];
    for (unit, state, reason) in cases {
        let mut observed = saying(&claim("m", true), marked("here", "m"));
        let Contact::Seen(seen) = &mut observed.contact else {
            panic!("it answers")
        };
        seen.units = unit
            .map(|state| UnitStatus {
                machine: "m".into(),
                unit: UnitName::Reset,
                identity: String::new(),
                state,
            })
            .into_iter()
            .collect();
        let now = plan(&observed, at(0));
        expect(reason, &now, state, &reset, reason, &[]);
        assert_eq!(finding(&now, "Clean").status, Status::False);
        if reason == "ResetFailed" {
            observed.attempts.failed = 3;
            observed.attempts.last = Some(at(0));
            let early = plan(&observed, at(0));
            expect("again later", &early, state, &[], reason, &["device busy"]);
            assert_ne!(early.next, Next::OnChange);
        }
    }
}

#[test]
fn a_reset_that_cannot_start_or_is_interrupted_again_pauses_and_says_why() {
    let reset = [Action::Reset(marker("here", "m"))];
    for (unit, why) in [
        (None, "reset could not be started: exit code 1: disk full"),
        (
            Some(UnitState::Interrupted(step())),
            "reset was interrupted in step",
        ),
    ] {
        let mut observed = saying(&claim("m", true), marked("here", "m"));
        let Contact::Seen(seen) = &mut observed.contact else {
            panic!("it answers")
        };
        seen.units.extend(unit.map(|state| UnitStatus {
            machine: "m".into(),
            unit: UnitName::Reset,
            identity: String::new(),
            state,
        }));
        observed.attempts = Attempts {
            failed: 3,
            last: Some(at(0)),
            error: Some("exit code 1: disk full".into()),
        };
        let early = plan(&observed, at(0));
        expect(why, &early, State::Quarantined, &[], "ResetFailed", &[why]);
        assert_ne!(early.next, Next::OnChange);
        let late = plan(&observed, at(60));
        expect(
            why,
            &late,
            State::Quarantined,
            &reset,
            "ResetFailed",
            &[why],
        );
    }
}

#[test]
fn a_host_that_cannot_be_asked_says_why_and_is_asked_again() {
    for (reason, message) in [
        (
            "CredentialMissing",
            "Secret fleet-key does not exist; create it",
        ),
        (
            "CredentialMalformed",
            "Secret fleet-key has no ssh-privatekey",
        ),
    ] {
        let error = ContactError {
            reason,
            message: message.into(),
            transient: false,
        };
        let plan = plan(&observed(&json!({}), Contact::Failed(error)), at(0));
        expect(reason, &plan, State::Unreachable, &[], reason, &[message]);
        assert_eq!(finding(&plan, "Reachable").status, Status::False);
        assert_ne!(plan.next, Next::OnChange);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn only_what_is_ours_and_let_go_is_reset_and_only_what_is_clean_is_available(
        who in select(vec!["nobody", "occupied", "m", "n", "there", "broken"]),
        contact in select(vec!["seen", "seen", "seen", "failed", "not asked"]),
        consumer in select(vec![None, Some(("m", false)), Some(("m", true))]),
        twin in prop::bool::weighted(0.2),
        paused in prop::bool::weighted(0.2),
        maintenance in prop::bool::weighted(0.2),
        deleting in prop::bool::weighted(0.2),
        exists in any::<bool>(),
    ) {
        let mut change = consumer.map_or(json!({ "spec": {} }), |(uid, releasing)| claim(uid, releasing));
        change["spec"]["maintenance"] = maintenance.into();
        change["metadata"] = json!({ "finalizers": [FINALIZER_IN_USE] });
        if paused {
            change["metadata"]["annotations"] = json!({ (ANNOTATION_PAUSED): "" });
        }
        if deleting {
            change["metadata"]["deletionTimestamp"] = at(0).to_string().into();
        }
        let owner = match who {
            "nobody" | "occupied" => Ownership::Nobody,
            "there" => marked("there", "m"),
            "broken" => Ownership::Unreadable("{".into()),
            uid => marked("here", uid),
        };
        let mut observed = saying(&change, owner);
        if who == "occupied" {
            observed = occupied(observed);
        }
        if contact != "seen" {
            let error = ContactError { reason: "Unreachable", message: "no answer".into(), transient: true };
            observed.contact = if contact == "failed" { Contact::Failed(error) } else { Contact::NotAsked };
        }
        if twin {
            observed.twins.address = vec!["default/h9".into()];
        }
        observed.consumer_exists = exists;
        let plan = plan(&observed, at(0));
        let released = consumer == Some(("m", true));
        for action in &plan.actions {
            let may = match action {
                Action::Reset(marker) => {
                    released && contact == "seen" && who == "m" && marker.uid == "m" && !paused
                }
                Action::Free if released => {
                    contact == "seen" && !paused && matches!(who, "nobody" | "occupied" | "n" | "there")
                }
                Action::Free => deleting && consumer.is_none() && !paused,
                // the others need a BMC, or another policy
                _ => false,
            };
            prop_assert!(may, "{action:?} in {plan:#?}");
        }
        let available = finding(&plan, "Available").status == Status::True;
        let free = consumer.is_none() && contact == "seen" && who == "nobody";
        prop_assert_eq!(available, free && !twin && !paused && !maintenance && !deleting);
        prop_assert_eq!(plan.state == State::Available, available);
        for finding in plan.findings.iter().filter(|f| f.condition != "Paused") {
            prop_assert!(!finding.reason.is_empty());
            prop_assert!(finding.status == Status::True || !finding.message.is_empty(), "{finding:?}");
        }
    }
}
