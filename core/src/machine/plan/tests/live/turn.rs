use super::*;
use crate::control_plane::turn::{Doubt, Marks, Side, Step};
use crate::machine::live::turn::{Outcome, of_removal, other_authority, recorded, taken, wanted};

fn says(outcome: Outcome) -> (&'static str, Option<Reason>) {
    match outcome {
        Outcome::Yes => ("yes", None),
        Outcome::NotYet(finding) => ("not yet", Some(finding.reason())),
        Outcome::Changed => ("changed", None),
    }
}

#[test]
fn only_a_machine_that_has_the_turn_goes_on() {
    let me = control_plane().marker;
    let of = |action| Turn {
        action,
        ..turn_of(OTHER)
    };
    let cut = || Doubt::Unreadable(Side::Secret, "?".into());
    let waits = ("not yet", Some(Reason::WaitingForTurn));
    let doubt = ("not yet", Some(Reason::TurnInDoubt));
    let no_secret = ("not yet", Some(Reason::WaitingForCertificates));
    let write = || Step::Write(Side::Secret, Marks::default());
    for (case, action, step, expected) in [
        ("its own", TurnAction::Init, Step::Done, ("yes", None)),
        (
            "another joins",
            TurnAction::Join,
            Step::Blocked(of(TurnAction::Join)),
            waits,
        ),
        (
            "another is updated",
            TurnAction::Remove,
            Step::Blocked(of(TurnAction::Upgrade)),
            waits,
        ),
        (
            "contradiction",
            TurnAction::Init,
            Step::InDoubt(cut()),
            doubt,
        ),
        (
            "initialized",
            TurnAction::Init,
            Step::Initialized(OTHER.into()),
            ("changed", None),
        ),
        (
            "not initialized",
            TurnAction::Join,
            Step::NotInitialized,
            ("changed", None),
        ),
        ("unwritten", TurnAction::Init, write(), ("changed", None)),
        ("no Secret", TurnAction::Init, Step::NoSecret, no_secret),
    ] {
        let outcome = taken(&me, "cluster", action, step);
        assert_eq!(says(outcome), expected, "{case}");
    }
    let blocked = Step::Blocked(of(TurnAction::Init));
    let blocked = says(taken(&me, "cluster", TurnAction::Init, blocked));
    assert_eq!(blocked.0, "not yet");
}

#[test]
fn a_turn_is_waited_for_in_the_condition_of_what_it_is_for() {
    let me = control_plane().marker;
    for (action, condition) in [
        (TurnAction::Join, "BootstrapReady"),
        (TurnAction::Upgrade, "UpToDate"),
        (TurnAction::Remove, "Deleting"),
    ] {
        let by = Turn {
            action: TurnAction::Join,
            ..turn_of(OTHER)
        };
        let outcome = taken(&me, "cluster", action, Step::Blocked(by));
        let Outcome::NotYet(finding) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(finding.condition, condition, "{action:?}");
    }
}

#[test]
fn a_machine_wants_the_turn_for_itself_and_for_what_it_does() {
    let observed = control_plane();
    let turn = wanted(&observed, TurnAction::Upgrade);
    assert_eq!(
        (turn.machine.as_str(), turn.action),
        (ME, TurnAction::Upgrade)
    );
    assert_eq!(of_removal(&observed), TurnAction::Join);
    let leaves = deleted(observed, at(0));
    assert_eq!(of_removal(&leaves), TurnAction::Remove);
}

#[test]
fn a_second_init_is_in_doubt_and_not_recorded() {
    let observed = control_plane();
    assert_eq!(says(recorded(&observed, Step::Done)), ("yes", None));
    let other = recorded(&observed, Step::Initialized(OTHER.into()));
    assert_eq!(says(other), ("not yet", Some(Reason::ControlPlaneInDoubt)));
}

#[test]
fn a_control_plane_with_the_key_of_another_ca_is_not_recorded() {
    let with = |authority: Option<&str>| {
        let observed = control_plane();
        let owner = own(&observed);
        let mut observed = on(observed, owner, Vec::new());
        if let Placement::Held(held) = &mut observed.placement
            && let Contact::Seen(seen) = &mut held.contact
        {
            seen.authority = authority.map(str::to_owned);
        }
        observed
    };
    for (case, has, authority, may) in [
        ("the same", Some("a"), Some("a"), true),
        ("another", Some("b"), Some("a"), false),
        ("unread", Some("a"), None, false),
        ("none there", None, Some("a"), true),
    ] {
        let doubt = other_authority(&with(has), authority);
        assert_eq!(doubt.is_none(), may, "{case}");
    }
}
