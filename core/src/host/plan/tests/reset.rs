//! The reset of a released host.

use super::*;

#[test]
fn a_released_host_is_reset_until_it_is_clean() {
    let failed = UnitState::Failed(Failure {
        attempt: 0,
        since: None,
        causes: Vec::new(),
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
                retried: None,
                job: Job::new(JobKind::Reset, "m"),
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
            observed.attempts.at_once();
            let asked = plan(&observed, at(0));
            expect("asked for", &asked, state, &reset, reason, &["device busy"]);
        }
    }
}

fn runs(observed: &mut Observed, kind: JobKind) {
    let Contact::Seen(seen) = &mut observed.contact else {
        panic!("it answers")
    };
    seen.units.push(UnitStatus {
        retried: None,
        job: Job::new(kind, "m"),
        identity: String::new(),
        state: UnitState::Running(step()),
    });
}

/// A manager that has just started follows nothing: a reset that it began would wait on the host
/// for kubeadm, and then undo what that has made. Found by reading, from what a search had found: a
/// reset by a deposed manager that arrives after init.
#[test]
fn no_reset_waits_behind_a_kubeadm_that_makes_a_node() {
    let reset = [Action::Reset(marker("here", "m"))];
    for (kind, actions, reason) in [
        (JobKind::Init, &[][..], "WaitingForStep"),
        (JobKind::Join, &[], "WaitingForStep"),
        (JobKind::Prepare, &reset, "Resetting"),
    ] {
        let mut observed = saying(&claim("m", true), marked("here", "m"));
        runs(&mut observed, kind);
        let now = plan(&observed, at(0));
        expect(reason, &now, State::Releasing, actions, reason, &[]);
        assert_eq!(finding(&now, "Clean").reason(), "NotResetYet");
        if !actions.is_empty() {
            continue;
        }
        assert_ne!(now.next, Next::OnChange, "nobody follows it");
        // nor is the power of such a host cut
        let mut reinstalled = observed.clone();
        let host = Arc::make_mut(&mut reinstalled.host);
        host.spec.wipe_policy = WipePolicy::Reinstall;
        let now = plan(&reinstalled, at(0));
        expect(reason, &now, State::Releasing, &[], reason, &[]);
        // it waits itself, for the reset that runs
        runs(&mut observed, JobKind::Reset);
        let now = plan(&observed, at(0));
        expect("behind", &now, State::Releasing, &reset, "Resetting", &[]);
    }
}

/// It has undone nothing, which is no trouble; again and again it waits like any other.
#[test]
fn a_reset_that_came_after_kubeadm_is_decided_again() {
    let mut observed = saying(&claim("m", true), marked("here", "m"));
    let Contact::Seen(seen) = &mut observed.contact else {
        panic!("it answers")
    };
    seen.units.push(UnitStatus {
        retried: None,
        job: Job::new(JobKind::Reset, "m"),
        identity: String::new(),
        state: UnitState::Failed(Failure {
            at: Progress {
                step: DECIDED_STEP.into(),
                ..step()
            },
            exit_code: DECIDED_LATE,
            attempt: 1,
            since: None,
            causes: vec!["why: kubeadm ran".into(), "do: Wait".into()],
            findings: Vec::new(),
            output: String::new(),
        }),
    });
    let reset = [Action::Reset(marker("here", "m"))];
    let now = plan(&observed, at(0));
    let said = &["kubeadm ran"];
    expect("again", &now, State::Releasing, &reset, "Resetting", said);
    observed.attempts.failed = 3;
    observed.attempts.last = Some(at(0));
    let now = plan(&observed, at(0));
    let remedy = &["kubeadm ran", "3 times", "stop what runs kubeadm"];
    expect(
        "for long",
        &now,
        State::Quarantined,
        &[],
        "ResetFailed",
        remedy,
    );
    assert_ne!(now.next, Next::OnChange);
    observed.attempts.failed = 2;
    let now = plan(&observed, at(0));
    expect("later", &now, State::Releasing, &[], "Resetting", said);
    // the step may fail as every step does
    for code in [1, 78, 124, 137] {
        let Contact::Seen(seen) = &mut observed.contact else {
            panic!("it answers")
        };
        if let UnitState::Failed(failure) = &mut seen.units[0].state {
            failure.exit_code = code;
        }
        let now = plan(&observed, at(100));
        expect(
            "fails",
            &now,
            State::Quarantined,
            &reset,
            "ResetFailed",
            said,
        );
    }
}

#[test]
fn a_reset_that_failed_says_so_while_it_is_tried_again() {
    let failure = Failure {
        at: step(),
        exit_code: 1,
        attempt: 2,
        since: None,
        causes: vec!["why: /mnt is held by tar (7)".into(), "do: end it".into()],
        findings: Vec::new(),
        output: String::new(),
    };
    let mut told = saying(&claim("m", true), marked("here", "m"));
    let Contact::Seen(seen) = &mut told.contact else {
        panic!("it answers")
    };
    seen.units.push(UnitStatus {
        retried: Some(Box::new(failure.clone())),
        job: Job::new(JobKind::Reset, "m"),
        identity: String::new(),
        state: UnitState::Running(step()),
    });
    let mut followed = observed(&claim("m", true), Contact::NotAsked);
    followed.following = Some(crate::node::Follow {
        job: Job::new(JobKind::Reset, "m"),
        progress: Some(step()),
        since: at(0),
        retried: Some(Box::new(failure)),
    });
    let reset = [Action::Reset(marker("here", "m"))];
    for (case, observed, actions) in [
        ("found running", told, &reset[..]),
        ("followed", followed, &[]),
    ] {
        let now = plan(&observed, at(0));
        let says = ["/mnt is held by tar (7). End it. ", "(attempt 2)"];
        expect(
            case,
            &now,
            State::Quarantined,
            actions,
            "ResetFailed",
            &says,
        );
    }
}

#[test]
fn a_reset_that_cannot_start_or_is_interrupted_again_pauses_and_says_why() {
    let reset = [Action::Reset(marker("here", "m"))];
    for (unit, why) in [
        (
            None,
            "reset could not be started (attempt 3): exit code 1: disk full",
        ),
        (
            Some(UnitState::Interrupted(step())),
            "reset could not be started (attempt 3): exit code 1: disk full",
        ),
        // and its marker is still there
        (
            Some(UnitState::Succeeded),
            "reset could not be started (attempt 3): exit code 1: disk full",
        ),
    ] {
        let mut observed = saying(&claim("m", true), marked("here", "m"));
        let Contact::Seen(seen) = &mut observed.contact else {
            panic!("it answers")
        };
        seen.units.extend(unit.map(|state| UnitStatus {
            retried: None,
            job: Job::new(JobKind::Reset, "m"),
            identity: String::new(),
            state,
        }));
        observed.attempts = Attempts {
            since: None,
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

/// With a Cluster all its hosts are reset at once, and what one of them fails by may be shared.
#[test]
fn resets_that_failed_together_are_not_tried_again_together() {
    let again = |uid: &str| {
        let mut observed = saying(&claim(uid, true), marked("here", uid));
        observed.attempts = Attempts::default().and(Some("disk full".into()), at(0));
        plan(&observed, at(0)).next
    };
    assert_ne!(again("m"), again("n"));
    assert_eq!(again("m"), again("m"));
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
            let error = ContactError { reason: Reason::SshUnreachable, message: "no answer".into(), transient: true };
            observed.contact = if contact == "failed" { Contact::Failed(error) } else { Contact::NotAsked };
        }
        if twin {
            observed.duplicates.address = vec!["default/h9".into()];
        }
        observed.consumer = machine;
        if rival && consumer.is_some() {
            observed.rivals = vec!["h9".into()];
        }
        observed.guards = (guards && who == "m").then(|| "a".into());
        if was_reset && contact == "seen" {
            observed = with_unit(observed, JobKind::Reset, UnitState::Succeeded);
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
            prop_assert!(finding.status == Status::True || !finding.message().is_empty(), "{finding:?}");
        }
    }
}
