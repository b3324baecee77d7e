//! What is done next about a job, as a table.

use super::*;
use crate::node::JobKind;

const STEPS: &str = "the steps of today";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn step(index: u32) -> Progress {
    Progress {
        step: format!("step-{index}"),
        index,
        total: 9,
    }
}

fn failure() -> Failure {
    Failure {
        at: step(2),
        exit_code: 1,
        attempt: 1,
        since: None,
        causes: Vec::new(),
        findings: Vec::new(),
        output: "no".into(),
    }
}

fn shown(state: UnitState) -> UnitStatus {
    UnitStatus {
        // "d" is 100: no jitter, which is half of the delay
        job: Job::new(JobKind::Kubelet, "d"),
        identity: STEPS.into(),
        state,
        retried: None,
    }
}

fn retried(state: UnitState) -> UnitStatus {
    UnitStatus {
        retried: Some(Box::new(failure())),
        ..shown(state)
    }
}

/// Three in a row, the last one at 0: the next one is 2 s later.
fn failed(error: Option<&str>) -> Attempts {
    Attempts {
        failed: 3,
        since: None,
        last: Some(at(0)),
        error: error.map(Into::into),
    }
}

/// What `Attempt` is, without what it refers to.
fn word(attempt: &Attempt<'_>) -> String {
    let of = |setback: &Setback<'_>| match setback {
        Setback::Unstarted(why) => why.clone(),
        Setback::Failed(failure) => format!("failed at {}", failure.at.index),
        Setback::Interrupted { at, again } => {
            let again = if *again { " again" } else { "" };
            format!("interrupted at {}{again}", at.index)
        }
    };
    match attempt {
        Attempt::Start(None) => "start".into(),
        Attempt::Start(Some(setback)) => format!("start: {}", of(setback)),
        Attempt::Attach { at, failure: None } => format!("attach at {}", at.index),
        Attempt::Attach {
            at,
            failure: Some(failure),
        } => format!("attach at {}, failed at {}", at.index, failure.at.index),
        Attempt::Wait(wait, setback) => format!("wait {} s: {}", wait.as_secs(), of(setback)),
        Attempt::Done => "done".into(),
    }
}

/// Status, attempts, and what is done next: by the steps that were started, by other steps, and
/// where success does not count.
type Row<'a> = (Option<UnitStatus>, Attempts, [&'a str; 3]);

const FULL: &str = "kubelet update could not be started (attempt 3): disk full";

#[test]
fn a_job_is_started_attached_to_waited_for_or_done() {
    use UnitState::{Failed, Interrupted, Running, Succeeded};
    let (none, done) = (Attempts::default, || Some(shown(Succeeded)));
    let (start_full, wait_full) = (format!("start: {FULL}"), format!("wait 2 s: {FULL}"));
    let wait_full = &*wait_full;
    let asked = Attempts {
        last: None,
        ..failed(Some("disk full"))
    };
    let rows: Vec<Row<'_>> = vec![
        (None, none(), ["start"; 3]),
        // of a folder that is gone
        (None, failed(None), ["start"; 3]),
        (None, failed(Some("disk full")), [wait_full; 3]),
        (None, asked, [&start_full; 3]),
        (
            Some(shown(Running(step(1)))),
            failed(Some("disk full")),
            ["attach at 1"; 3],
        ),
        (
            Some(retried(Running(step(1)))),
            none(),
            ["attach at 1, failed at 2"; 3],
        ),
        (done(), none(), ["done", "start", "start"]),
        (done(), failed(None), ["done", "start", "start"]),
        (
            done(),
            failed(Some("disk full")),
            ["done", wait_full, wait_full],
        ),
        // a manager that has just started tries at once
        (
            Some(shown(Failed(failure()))),
            none(),
            ["start: failed at 2", "start", "start: failed at 2"],
        ),
        (
            Some(shown(Failed(failure()))),
            failed(None),
            ["wait 2 s: failed at 2", "start", "wait 2 s: failed at 2"],
        ),
        (
            Some(shown(Failed(failure()))),
            failed(Some("disk full")),
            [wait_full; 3],
        ),
        (
            Some(shown(Interrupted(step(1)))),
            none(),
            [
                "start: interrupted at 1",
                "start",
                "start: interrupted at 1",
            ],
        ),
        (
            Some(shown(Interrupted(step(1)))),
            failed(None),
            [
                "wait 2 s: interrupted at 1 again",
                "start",
                "wait 2 s: interrupted at 1 again",
            ],
        ),
        (
            Some(retried(Interrupted(step(1)))),
            failed(None),
            ["wait 2 s: failed at 2", "start", "wait 2 s: failed at 2"],
        ),
    ];
    for (status, attempts, expected) in rows {
        let wanted = |identity| Wanted {
            job: Job::new(JobKind::Kubelet, "d"),
            identity,
        };
        let status = status.as_ref();
        let next = |identity| Attempt::next(status, &wanted(identity), &attempts, at(0));
        let found = [
            word(&next(Some(STEPS))),
            word(&next(Some("others"))),
            word(&Attempt::afresh(
                status,
                &wanted(Some(STEPS)),
                &attempts,
                at(0),
            )),
        ];
        assert_eq!(found, expected, "{status:?} {attempts:?}");
        assert_eq!(next(None), next(Some(STEPS)), "whatever its steps are");
        for identity in [Some(STEPS), Some("others"), None] {
            let is_done = wanted(identity).is_done(status);
            assert_eq!(is_done, next(identity) == Attempt::Done, "{status:?}");
        }
        // a back-off ends, and what was waited for is said until then
        let late = Attempt::next(status, &wanted(None), &attempts, at(2));
        match (next(None), late) {
            (Attempt::Wait(_, before), Attempt::Start(after)) => assert_eq!(after, Some(before)),
            (now, late) => assert_eq!(now, late),
        }
    }
}
