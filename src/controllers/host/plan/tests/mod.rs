mod claimed;
mod foreign;
mod installation;
mod power;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::observed::{Consumer, Owner as Known};
use super::super::twins::Twins;
use super::*;
use crate::api::Host;
use crate::api::conditions::Status;
use crate::api::host::HostFacts;
use crate::api::names::FINALIZER_IN_USE;
use crate::controllers::proof::Proof;
use crate::node::{Failure, Owner, Progress, SoftwareVersions, UnitState, UnitStatus};
use crate::provider::follow::Attempts;

/// The Machine of the claim is being deleted, and was a node.
const LEAVING: Consumer = Consumer::Exists {
    is_deleting: true,
    is_begun: true,
};
/// The Machine of the claim is being deleted, and nothing was begun for it.
const UNBEGUN: Consumer = Consumer::Exists {
    is_deleting: true,
    is_begun: false,
};
/// The Machine of the claim is not being deleted.
const STAYING: Consumer = Consumer::Exists {
    is_deleting: false,
    is_begun: true,
};

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
        authority: None,
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
        heard_at: None,
        first_contact_keys: Vec::new(),
        following: None,
        owner: Known::Unknown,
        consumer: LEAVING,
        rivals: Vec::new(),
        guards: None,
        stands_in: None,
        unrecorded: None,
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

/// The host has this unit of Machine `m`.
fn with_unit(mut observed: Observed, unit: UnitName, state: UnitState) -> Observed {
    let Contact::Seen(seen) = &mut observed.contact else {
        panic!("it answers")
    };
    seen.units.push(UnitStatus {
        machine: "m".into(),
        unit,
        identity: String::new(),
        state,
    });
    observed
}

/// The Machine of the claim is this now.
fn of(consumer: Consumer, mut observed: Observed) -> Observed {
    observed.consumer = consumer;
    observed
}

/// Evidence that the claim of Machine `m` may be cleared.
fn free_of(observed: &Observed) -> Action {
    let Contact::Seen(seen) = &observed.contact else {
        panic!("it answers")
    };
    let proof = Proof::of_host(&marker("here", "m"), observed.consumer.is_begun(), seen);
    Action::Free(Clean::from(&proof.expect("a proof")).expect("accepted"))
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
    let cases: [(&str, Value, State, &[Action], &str); 3] = [
        ("free", json!({}), State::Available, &[], "Available"),
        ("claimed", claim("m", false), State::Claimed, &[], "Claimed"),
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
fn a_host_is_freed_when_it_was_reset_and_its_machine_is_gone_or_when_nothing_ever_started() {
    let clean = || saying(&claim("m", true), Ownership::Nobody);
    let reset = || with_unit(clean(), UnitName::Reset, UnitState::Succeeded);
    let gone = of(Consumer::Missing, reset());
    let unbegun = of(UNBEGUN, clean());
    let mut kept = claim("m", true);
    kept["metadata"]["deletionTimestamp"] = at(0).to_string().into();
    let deleted = of(UNBEGUN, saying(&kept, Ownership::Nobody));
    let free = |observed: &Observed| vec![free_of(observed)];
    let cases = [
        ("reset, its Machine is not gone", reset(), vec![], "Freeing"),
        (
            "reset, its Machine is gone",
            gone.clone(),
            free(&gone),
            "Freeing",
        ),
        ("never started", unbegun.clone(), free(&unbegun), "Freeing"),
        ("never started, and deleted", deleted, vec![], "Freeing"),
        ("its disk is lost", clean(), vec![], "NotReset"),
        (
            "its disk is lost, its Machine gone",
            of(Consumer::Missing, clean()),
            vec![],
            "NotReset",
        ),
    ];
    for (case, observed, actions, reason) in cases {
        let plan = plan(&observed, at(0));
        assert_eq!(plan.actions, actions, "{case}");
        assert_eq!(finding(&plan, "Available").reason, reason, "{case}");
    }
}

#[test]
fn nothing_is_reset_that_its_machine_did_not_release_or_that_has_a_control_plane() {
    let ours = || saying(&claim("m", true), marked("here", "m"));
    let mut guarded = ours();
    guarded.guards = Some("a".into());
    let mut twice = ours();
    twice.rivals = vec!["h9".into()];
    let name = json!({ "spec": { "consumerRef": { "name": "w-9", "uid": "m", "cluster": "a", "releasing": true } } });
    let cases = [
        ("set by hand", of(STAYING, ours()), "NotReleased"),
        ("a control plane", guarded.clone(), "LastControlPlane"),
        (
            "and its Machine is gone",
            of(Consumer::Missing, guarded),
            "LastControlPlane",
        ),
        ("claimed twice", twice, "ClaimedTwice"),
        (
            "another name",
            saying(&name, marked("here", "m")),
            "Orphaned",
        ),
    ];
    for (case, observed, reason) in cases {
        for policy in ["reset", "retain", "reinstall"] {
            let mut observed = observed.clone();
            let host = Arc::make_mut(&mut observed.host);
            let policy: crate::api::installation::WipePolicy =
                serde_json::from_value(policy.into()).expect("a policy");
            host.spec.wipe_policy = policy;
            let plan = plan(&observed, at(0));
            assert_eq!(plan.actions, [], "{case}");
            assert_eq!(finding(&plan, "Available").reason, reason, "{case}");
        }
    }
}

#[test]
fn a_host_with_the_claim_of_another_can_be_deleted_without_a_write_to_its_server() {
    let copied = |owner: Ownership, releasing: bool| {
        let mut change = claim("m", releasing);
        change["metadata"] =
            json!({ "deletionTimestamp": at(0).to_string(), "finalizers": [FINALIZER_IN_USE] });
        saying(&change, owner)
    };
    let twice = |mut observed: Observed| {
        observed.rivals = vec!["h9".into()];
        observed
    };
    let nobody = || Ownership::Nobody;
    let reset = with_unit(
        copied(nobody(), true),
        UnitName::Reset,
        UnitState::Succeeded,
    );
    let waits = of(UNBEGUN, copied(nobody(), false));
    let goes = vec![Action::LetGo];
    let cases = [
        (
            "copied",
            twice(of(STAYING, copied(nobody(), false))),
            goes.clone(),
        ),
        (
            "copied, another's server",
            twice(copied(marked("here", "n"), false)),
            goes.clone(),
        ),
        (
            "its Machine is gone",
            of(Consumer::Missing, copied(nobody(), false)),
            goes.clone(),
        ),
        ("its disk is lost", copied(nobody(), false), goes),
        (
            "the marker is that Machine's",
            twice(copied(marked("here", "m"), false)),
            vec![],
        ),
        ("just claimed", waits, vec![]),
        ("its Machine still has to read it", reset, vec![]),
    ];
    for (case, observed, actions) in cases {
        assert_eq!(plan(&observed, at(0)).actions, actions, "{case}");
    }
}

#[test]
fn a_copied_host_goes_while_another_stands_for_its_server_whatever_that_says() {
    let mut change = claim("m", false);
    change["metadata"] =
        json!({ "deletionTimestamp": at(0).to_string(), "finalizers": [FINALIZER_IN_USE] });
    let silent = ContactError {
        reason: "SshUnreachable",
        message: "no answer".into(),
        transient: true,
    };
    let contacts = [
        (
            "our marker",
            Contact::Seen(Box::new(seen(marked("here", "m")))),
        ),
        (
            "a broken marker",
            Contact::Seen(Box::new(seen(Ownership::Unreadable("{".into())))),
        ),
        ("silent", Contact::Failed(silent)),
        ("not asked", Contact::NotAsked),
        ("off", Contact::Off),
    ];
    for (case, contact) in contacts {
        let mut copied = of(STAYING, observed(&change, contact));
        copied.rivals = vec!["h9".into()];
        assert_eq!(
            plan(&copied, at(0)).actions,
            [],
            "{case}: nobody else stands for it"
        );
        copied.stands_in = Some("h9".into());
        let leave = [Action::LeaveTo("h9".into())];
        assert_eq!(plan(&copied, at(0)).actions, leave, "{case}");
        let mut kept = copied.clone();
        Arc::make_mut(&mut kept.host).metadata.deletion_timestamp = None;
        assert_eq!(plan(&kept, at(0)).actions, [], "{case}: not deleted");
    }
}

#[test]
fn a_control_plane_that_nobody_recorded_is_recorded_and_not_reset() {
    let mut made = marked("here", "m");
    if let Ownership::Owner(owner) = &mut made {
        owner.initialized = true;
    }
    let mut answer = seen(made);
    answer.authority = Some("sha256:ca".into());
    let proof = Initialized::of_host("here", Some("sha256:ca"), &answer).expect("a proof");
    for (change, reason) in [
        (claim("m", true), "LastControlPlane"),
        (json!({}), "Orphaned"),
    ] {
        let contact = Contact::Seen(Box::new(answer.clone()));
        let mut found = of(Consumer::Missing, observed(&change, contact));
        found.guards = Some("a".into());
        found.unrecorded = Some(proof.clone());
        let plan = plan(&found, at(0));
        let record = Action::RecordInitialized(proof.clone());
        assert_eq!(plan.actions, [record], "{reason}");
        assert_eq!(finding(&plan, "Available").reason, reason);
    }
}

#[test]
fn a_claim_whose_machine_is_gone_says_how_to_get_the_host_back() {
    let mut observed = observed(&claim("m", false), Contact::NotAsked);
    observed.consumer = Consumer::Missing;
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
        machine in select(vec![LEAVING, UNBEGUN, STAYING, Consumer::Missing]),
        rival in prop::bool::weighted(0.1),
        guards in prop::bool::weighted(0.1),
        was_reset in any::<bool>(),
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
        observed.consumer = machine;
        if rival && consumer.is_some() {
            observed.rivals = vec!["h9".into()];
        }
        observed.guards = (guards && who == "m").then(|| "a".into());
        if was_reset && contact == "seen" {
            observed = with_unit(observed, UnitName::Reset, UnitState::Succeeded);
        }
        let plan = plan(&observed, at(0));
        let released = consumer == Some(("m", true));
        for action in &plan.actions {
            let may = match action {
                Action::Reset(marker) => {
                    let is_meant = machine.may_release() && observed.guards.is_none() && observed.rivals.is_empty();
                    released && contact == "seen" && who == "m" && marker.uid == "m" && !paused && is_meant
                }
                Action::Free(_) => {
                    let is_others = matches!(who, "nobody" | "occupied" | "n" | "there");
                    let is_proven = was_reset || !machine.is_begun();
                    released && contact == "seen" && !paused && is_others && is_proven && observed.rivals.is_empty()
                }
                Action::LetGo => {
                    let has_nothing = contact == "seen" && !matches!(who, "m" | "broken");
                    deleting && !paused && (consumer.is_none() || has_nothing)
                }
                // the others need a BMC, another policy, another Host, or a control plane
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
