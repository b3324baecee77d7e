//! A failure that is tried again stays what is said, until its step has succeeded.

use super::*;
use crate::node::Follow;

/// The second step of nine, which found out why.
fn full() -> Failure {
    Failure {
        at: step("containerd"),
        exit_code: 1,
        attempt: 4,
        since: Some(at(-60).as_millisecond()),
        causes: vec![
            "why: containerd.service is masked on host-a".into(),
            "do: run there: systemctl unmask containerd".into(),
        ],
        findings: Vec::new(),
        output: "Failed to enable unit".into(),
    }
}

const SAID: &str = "containerd.service is masked on host-a. Run there: systemctl unmask containerd. \
    2/9 containerd failed with exit code 1 (attempt 4, failing since 2027-01-15T07:59:00Z)\nFailed to enable unit";

fn nth(index: u32) -> Progress {
    Progress {
        index,
        ..step("containerd")
    }
}

fn followed(retried: Option<Failure>, progress: Option<Progress>) -> Observed {
    let mut observed = ours(worker(), Vec::new());
    observed.placement = held(Contact::NotAsked);
    observed.follow = Some(Follow {
        job: observed.marker.job(JobKind::Prepare),
        progress,
        since: at(0),
        retried: retried.map(Box::new),
    });
    observed
}

/// As its host says it, which is all that is known after a restart of the manager.
fn told(state: UnitState) -> Observed {
    let status = UnitStatus {
        retried: Some(Box::new(full())),
        ..unit(&worker(), JobKind::Prepare, state)
    };
    ours(worker(), vec![status])
}

fn saying(mut observed: Observed, reason: &str, message: &str) -> Observed {
    let condition = json!({ "type": "BootstrapReady", "status": "False", "reason": reason, "message": message,
        "lastTransitionTime": at(-60).to_string() });
    let status = json!({ "status": { "conditions": [condition] } });
    observed = edited(observed, &status);
    observed
}

#[test]
fn a_failure_is_said_the_same_while_it_is_tried_again_and_until_its_step_has_succeeded() {
    let cases = [
        ("failed", told(UnitState::Failed(full()))),
        ("tried again", followed(Some(full()), None)),
        ("the step before", followed(Some(full()), Some(nth(1)))),
        ("the step itself", followed(Some(full()), Some(nth(2)))),
        ("found running", told(UnitState::Running(step("preflight")))),
        ("cut off", told(UnitState::Interrupted(step("preflight")))),
    ];
    for (case, observed) in cases {
        let plan = plan(&observed, at(0));
        for condition in ["BootstrapReady", "Ready"] {
            let finding = finding(&plan, condition);
            assert_eq!(finding.reason(), "PrepareFailed", "{case}");
            assert_eq!(finding.message(), SAID, "{case}");
        }
    }
    let past = plan(&followed(Some(full()), Some(nth(3))), at(0));
    let says = ("Ready", "Preparing", &["3/9 containerd"][..]);
    expect("past it", &past, &[], says);
    let done = plan(&told(UnitState::Running(step("images"))), at(0));
    assert_eq!(done.actions, [Action::RunJob(JobKind::Prepare)]);
}

#[test]
fn that_a_unit_cannot_be_started_stays_until_it_runs() {
    let no_room = "exit code 1: mkdir: No space left\nwhy: /var on host-a is full (0 of 459 MB free)\ndo: Free space there";
    let mut observed = ours(worker(), Vec::new());
    let attempts = Attempts::default()
        .and(None, at(-60))
        .and(Some(no_room.into()), at(-1));
    observed.attempts = [(JobKind::Prepare, attempts)].into();
    let message = "/var on host-a is full (0 of 459 MB free). Free space there. \
        preparation could not be started (attempt 2, failing since 2027-01-15T07:59:00Z)";
    let fails = plan(&observed, at(0));
    assert_eq!(finding(&fails, "Ready").message(), message);
    let retried = plan(
        &saying(followed(None, None), "PrepareFailed", message),
        at(0),
    );
    assert_eq!(finding(&retried, "Ready").message(), message);
    assert_eq!(finding(&retried, "Ready").reason(), "PrepareFailed");
    // after a restart of the manager, before the host has said anything
    let restarted = plan(
        &saying(ours(worker(), Vec::new()), "PrepareFailed", message),
        at(0),
    );
    assert_eq!(finding(&restarted, "Ready").message(), message);
    assert_eq!(restarted.actions, [Action::RunJob(JobKind::Prepare)]);
    // what was said of another unit is over
    let other = plan(
        &saying(followed(None, None), "KubeadmJoinFailed", message),
        at(0),
    );
    let says = ("Ready", "Preparing", &["preparation starts"][..]);
    expect("another unit", &other, &[], says);
    let runs = plan(
        &saying(followed(None, Some(nth(1))), "PrepareFailed", message),
        at(0),
    );
    expect("it runs", &runs, &[], ("Ready", "Preparing", &["1/9"][..]));

    let mut bare = ours(worker(), Vec::new());
    let attempts = Attempts::default().and(Some("exit code 255: ssh".into()), at(0));
    bare.attempts = [(JobKind::Prepare, attempts)].into();
    let says = [
        "preparation could not be started (attempt 1, failing since 2027-01-15T08:00:00Z): exit code 255: ssh",
    ];
    let waits = plan(&bare, at(0));
    expect(
        "no cause",
        &waits,
        &[],
        ("Ready", "PrepareFailed", &says[..]),
    );
}

#[test]
fn a_preparation_of_other_settings_that_cannot_be_started_waits_between_attempts() {
    let mut status = unit(&worker(), JobKind::Prepare, UnitState::Succeeded);
    status.identity = "another".into();
    let mut observed = ours(worker(), vec![status]);
    let again = plan(&observed, at(0));
    let run = [Action::RunJob(JobKind::Prepare)];
    let changed = ("Ready", "Preparing", &["settings of the preparation"][..]);
    expect("it is run again", &again, &run, changed);
    let attempts = Attempts::default().and(Some("exit code 255: ssh".into()), at(0));
    observed.attempts = [(JobKind::Prepare, attempts)].into();
    let says = &["preparation could not be started (attempt 1, "][..];
    let fails = ("Ready", "PrepareFailed", says);
    let waits = plan(&observed, at(0));
    expect("it waits", &waits, &[], fails);
    assert_ne!(waits.next, Next::OnChange);
    expect("then", &plan(&observed, at(60)), &run, fails);
}
