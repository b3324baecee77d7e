//! How soon a Host is asked again.

use super::super::pace;
use super::*;
use crate::node::Follow;

#[test]
fn a_host_is_asked_again_unless_something_else_tells_or_nothing_is_there_to_ask() {
    let asked = || observed(&json!({}), Contact::NotAsked);
    let followed = || Observed {
        following: Some(Follow {
            retried: None,
            job: Job::new(JobKind::Prepare, "m"),
            progress: None,
            since: at(0),
        }),
        ..asked()
    };
    let missed = || Observed {
        is_missed: true,
        ..asked()
    };
    let standing = Next::After(STANDING);
    for (case, observed, state, reason, next) in [
        ("in use", asked(), State::Claimed, Reason::Claimed, standing),
        (
            "a step runs",
            followed(),
            State::Claimed,
            Reason::Claimed,
            Next::OnChange,
        ),
        (
            "kept back",
            asked(),
            State::Maintenance,
            Reason::Maintenance,
            standing,
        ),
        (
            "installs",
            asked(),
            State::Installing,
            Reason::Maintenance,
            Next::OnChange,
        ),
        (
            "paused",
            asked(),
            State::Claimed,
            Reason::Paused,
            Next::OnChange,
        ),
        (
            "its Node is not Ready",
            missed(),
            State::Claimed,
            Reason::Resetting,
            standing,
        ),
    ] {
        let plan = unavailable(state, reason, case);
        assert_eq!(pace::of(&observed, &plan), next, "{case}");
    }
    let mut rests = unavailable(State::Available, Reason::Available, "");
    assert_eq!(pace::of(&asked(), &rests), standing);
    let off = Finding::no(ConditionType::PowerOn, Reason::SwitchedOff, "");
    rests.findings.push(off);
    assert_eq!(pace::of(&asked(), &rests), Next::OnChange);
}
