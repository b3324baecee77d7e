//! A host with a BMC.

use std::time::Duration;

use super::*;
use crate::api::conditions::{ConditionType, Reason};
use crate::host::{PowerReading, PowerState};

/// A host with a BMC, of which the status says this.
fn host(change: &Value, conditions: &[(&str, &str, &str)], contact: Contact) -> Observed {
    let mut change = change.clone();
    change["spec"]["bmc"] = json!({
        "address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"}, "tls": {"fingerprint": "sha256:00"},
        "powerOffWhenReleased": change["off"].as_bool().unwrap_or_default(),
    });
    let mut observed = observed(&change, contact);
    let host = Arc::make_mut(&mut observed.host);
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(type_, status, reason)| {
            json!({"type": type_, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": at(0).to_string()})
        })
        .collect();
    let facts = serde_json::to_value(HostFacts::default()).expect("facts");
    let status = json!({"facts": facts, "conditions": conditions});
    host.status = serde_json::from_value(status).expect("a status");
    observed
}

fn heard(mut observed: Observed, power: Result<PowerState, ContactError>) -> Observed {
    observed.bmc = Some(PowerReading {
        at: at(0),
        asked_with: "0".into(),
        power,
    });
    observed
}

fn failed(reason: Reason) -> ContactError {
    ContactError {
        reason,
        message: format!("no: {reason}"),
        transient: true,
    }
}

fn silent() -> Contact {
    Contact::Failed(failed(Reason::SshUnreachable))
}

fn off(change: &Value, conditions: &[(&str, &str, &str)]) -> Observed {
    heard(host(change, conditions, Contact::Off), Ok(PowerState::Off))
}

/// Free, clean and switched off, as its owner wants it.
pub(super) fn resting() -> Observed {
    let policy = json!({ "spec": {}, "off": true });
    off(&policy, &[("Clean", "True", "Clean")])
}

/// Case, what is observed, state, actions, reason of `Available`, reason of `PowerOn`.
type Case<'a> = (&'a str, Observed, State, &'a [Action], &'a str, &'a str);

#[test]
fn a_host_that_is_off_is_switched_on_where_it_is_needed_and_nowhere_else() {
    let clean = &[("Clean", "True", "Clean")];
    let policy = json!({ "spec": {}, "off": true });
    let maintenance = json!({ "spec": { "maintenance": true } });
    let deleted = json!({ "spec": {}, "metadata": { "deletionTimestamp": at(0).to_string() } });
    let gone = |mut observed: Observed| {
        observed.consumer = Consumer::Missing;
        observed
    };
    let on = [Action::SwitchOn];
    let cases: [Case; 9] = [
        (
            "registering",
            off(&json!({ "spec": {} }), &[]),
            State::Registering,
            &on,
            "SwitchingOn",
            "SwitchingOn",
        ),
        (
            "free, and wanted on",
            off(&json!({ "spec": {} }), clean),
            State::Registering,
            &on,
            "SwitchingOn",
            "SwitchingOn",
        ),
        (
            "free and wanted off, never seen clean",
            off(&policy, &[]),
            State::Registering,
            &on,
            "SwitchingOn",
            "SwitchingOn",
        ),
        (
            "free and wanted off",
            off(&policy, clean),
            State::Available,
            &[],
            "Available",
            "SwitchedOff",
        ),
        (
            "claimed",
            off(&claim("m", false), clean),
            State::Claimed,
            &on,
            "SwitchingOn",
            "SwitchingOn",
        ),
        (
            "claimed by nobody",
            gone(off(&claim("m", false), clean)),
            State::Claimed,
            &[],
            "MachineGone",
            "PoweredOff",
        ),
        (
            "let go, its Machine there",
            off(&claim("m", true), clean),
            State::Quarantined,
            &[],
            "Fenced",
            "Fenced",
        ),
        (
            "let go, its Machine gone",
            gone(off(&claim("m", true), clean)),
            State::Quarantined,
            &on,
            "SwitchingOn",
            "SwitchingOn",
        ),
        (
            "in maintenance",
            off(&maintenance, clean),
            State::Maintenance,
            &[],
            "Maintenance",
            "PoweredOff",
        ),
    ];
    for (case, observed, state, actions, reason, power) in cases {
        let plan = plan(&observed, at(0));
        expect(case, &plan, state, actions, reason, &[]);
        assert_eq!(finding(&plan, "PowerOn").reason(), power, "{case}");
        assert_eq!(finding(&plan, "PowerOn").status, Status::False, "{case}");
        assert_eq!(
            finding(&plan, "BMCReachable").status,
            Status::True,
            "{case}"
        );
    }
    let plan = plan(&off(&deleted, clean), at(0));
    expect("deleted", &plan, State::Maintenance, &[], "Deleting", &[]);
}

#[test]
fn a_host_that_rests_is_available_and_not_said_to_be_reachable() {
    let policy = json!({ "spec": {}, "off": true });
    let plan = plan(&off(&policy, &[("Clean", "True", "Clean")]), at(0));
    assert_eq!(finding(&plan, "Available").status, Status::True);
    assert_eq!(finding(&plan, "Reachable").status, Status::Unknown);
    assert_eq!(plan.next, Next::OnChange, "nobody is asked again");
}

#[test]
fn a_free_host_is_switched_off_only_by_policy_and_when_its_bmc_answers() {
    let policy = json!({ "spec": {}, "off": true });
    let known = &[("BMCReachable", "True", "BMCAnswers")];
    let seen = |change: &Value, conditions: &[(&str, &str, &str)]| {
        let contact = Contact::Seen(Box::new(super::seen(Ownership::Nobody)));
        host(change, conditions, contact)
    };
    let twin = |mut observed: Observed| {
        observed.duplicates.bmc = vec!["default/h9".into()];
        observed
    };
    let off = [Action::SwitchOff];
    let cases: [(&str, Observed, State, &[Action], &str); 7] = [
        (
            "no policy",
            seen(&json!({ "spec": {} }), known),
            State::Available,
            &[],
            "Available",
        ),
        (
            "policy",
            seen(&policy, known),
            State::Releasing,
            &off,
            "SwitchingOff",
        ),
        (
            "BMC never asked",
            seen(&policy, &[]),
            State::Available,
            &[],
            "Available",
        ),
        (
            "BMC answers",
            heard(seen(&policy, &[]), Ok(PowerState::On)),
            State::Releasing,
            &off,
            "SwitchingOff",
        ),
        (
            "BMC fails",
            heard(seen(&policy, known), Err(failed(Reason::BMCUnreachable))),
            State::Available,
            &[],
            "Available",
        ),
        (
            "BMC of two Hosts",
            twin(seen(&policy, known)),
            State::Available,
            &[],
            "Available",
        ),
        (
            "occupied",
            occupied(seen(&policy, known)),
            State::Quarantined,
            &[],
            "Occupied",
        ),
    ];
    for (case, observed, state, actions, reason) in cases {
        let plan = plan(&observed, at(0));
        expect(case, &plan, state, actions, reason, &[]);
        assert_eq!(finding(&plan, "PowerOn").reason(), "Answers", "{case}");
    }
}

#[test]
fn a_fenced_host_is_looked_at_again_while_its_machine_waits() {
    let plan = plan(&off(&claim("m", true), &[]), at(0));
    assert_eq!(finding(&plan, "PowerOn").reason(), "Fenced");
    assert_eq!(plan.next, Next::After(STANDING));
}

#[test]
fn a_released_host_that_stays_silent_is_cut_from_its_power_while_its_machine_waits() {
    let silent_since_0 = &[("Reachable", "False", "SshUnreachable")];
    let released = |conditions| {
        heard(
            host(&claim("m", true), conditions, silent()),
            Ok(PowerState::On),
        )
    };
    let early = plan(&released(silent_since_0), at(29));
    assert_eq!(early.actions, []);
    assert_eq!(early.next, Next::After(Duration::from_secs(1)));
    assert_eq!(
        plan(&released(&[]), at(1_000)).actions,
        [],
        "silent since just now"
    );
    let late = plan(&released(silent_since_0), at(30));
    let says = &["no: SshUnreachable", "cutting its power"];
    expect(
        "late",
        &late,
        State::Quarantined,
        &[Action::Fence],
        "Fencing",
        says,
    );
}

#[test]
fn no_power_is_cut_of_what_answers_or_is_not_let_go_or_is_not_ours_alone() {
    let since_0 = &[("Reachable", "False", "SshUnreachable")];
    let on = |observed| heard(observed, Ok(PowerState::On));
    let answers = Contact::Failed(failed(Reason::AuthenticationFailed));
    let mut gone = on(host(&claim("m", true), since_0, silent()));
    gone.consumer = Consumer::Missing;
    let mut twin = on(host(&claim("m", true), since_0, silent()));
    twin.duplicates.bmc = vec!["default/h9".into()];
    let mut kept = claim("m", true);
    kept["spec"]["maintenance"] = true.into();
    let strange = &[since_0[0], ("Clean", "False", "Orphaned")];
    let mut paused = claim("m", true);
    paused["metadata"]["annotations"] = json!({ (ANNOTATION_PAUSED): "" });
    let cases = [
        ("answers", on(host(&claim("m", true), since_0, answers))),
        ("claimed", on(host(&claim("m", false), since_0, silent()))),
        ("free", on(host(&json!({ "spec": {} }), since_0, silent()))),
        ("Machine gone", gone),
        ("BMC of two Hosts", twin),
        ("maintenance", on(host(&kept, since_0, silent()))),
        ("paused", on(host(&paused, since_0, silent()))),
        ("another's", on(host(&claim("m", true), strange, silent()))),
        ("never asked", host(&claim("m", true), since_0, silent())),
    ];
    for (case, observed) in cases {
        assert_eq!(plan(&observed, at(1_000)).actions, [], "{case}");
    }
}

#[test]
fn a_bmc_that_cannot_cut_the_power_is_named_with_its_reason() {
    let since_0 = &[("Reachable", "False", "SshUnreachable")];
    for (reason, condition) in [
        (Reason::BMCLoginRefused, "BMCReachable"),
        (Reason::BMCCertificateChanged, "BMCReachable"),
        (Reason::PowerActionRefused, "PowerOn"),
    ] {
        let observed = host(&claim("m", true), since_0, silent());
        let plan = plan(&heard(observed, Err(failed(reason))), at(1_000));
        let reason = reason.as_str();
        let text = format!("its power could not be cut: no: {reason}");
        expect(
            reason,
            &plan,
            State::Quarantined,
            &[],
            "SshUnreachable",
            &[&text],
        );
        assert_eq!(finding(&plan, condition).reason(), reason);
        assert_eq!(finding(&plan, condition).status, Status::False, "{reason}");
    }
}

#[test]
fn one_bmc_of_two_hosts_is_said_on_both_and_never_asked() {
    let mut observed = host(&json!({ "spec": {} }), &[], silent());
    observed.duplicates.bmc = vec!["default/h9".into()];
    let plan = plan(&observed, at(0));
    let said = finding(&plan, "BMCReachable");
    assert_eq!(
        (said.status, said.reason()),
        (Status::False, Reason::DuplicateBMC)
    );
    assert!(
        said.message().contains("Host default/h9"),
        "{}",
        said.message()
    );
    assert_eq!(plan.actions, []);
}

#[test]
fn a_host_that_is_missed_by_its_machine_is_looked_at_again() {
    let mut observed = host(
        &claim("m", false),
        &[],
        Contact::Seen(Box::new(seen(marked("here", "m")))),
    );
    observed.is_missed = true;
    let plan = plan(&observed, at(0));
    assert_eq!(plan.state, State::Claimed);
    assert_eq!(plan.next, Next::After(STANDING));
}

#[test]
fn without_a_bmc_nothing_is_said_of_power() {
    let plan = plan(&saying(&json!({}), Ownership::Nobody), at(0));
    let of_bmc = |f: &&Finding| {
        matches!(
            f.condition,
            ConditionType::PowerOn | ConditionType::BMCReachable
        )
    };
    assert_eq!(plan.findings.iter().filter(of_bmc).count(), 0);
}
