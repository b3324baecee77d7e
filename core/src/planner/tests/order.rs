//! The order in which those get the turn that ask for it.

use proptest::prelude::*;

use super::*;

#[test]
fn of_several_the_first_by_what_they_ask_for_gets_it() {
    let of = |name: &str, action, member| Seat {
        wants: Wants::Asks(Asks {
            action,
            half_done: false,
        }),
        member,
        ..idle(name)
    };
    let (join, remove) = (TurnAction::Join, TurnAction::Remove);
    // in the order of changes, against that of names
    let queue = [
        seat("f", Some(true)),
        of("e", remove, DOWN),
        of("d", join, MemberView::default()),
        of("c", remove, SPARE),
        of("b", UPGRADE, SPARE),
    ];
    for first in 0..queue.len() {
        let mut left = queue[first..].to_vec();
        let expected = left[0].name.clone();
        left.reverse();
        let plan = plan(&observed(Holder::Nobody, left));
        assert_eq!(granted(&plan), Some(expected.as_str()));
        let waits = queue[first + 1..].iter().map(|seat| &seat.uid);
        assert!(plan.waits.iter().map(|(uid, _)| uid).eq(waits), "{plan:?}");
    }
}

#[test]
fn a_member_of_no_machine_goes_before_others_join_or_leave() {
    let join = |look| Seat {
        wants: Wants::Asks(Asks {
            action: TurnAction::Join,
            half_done: false,
        }),
        look,
        ..idle("a")
    };
    let runs = |kind| Seat {
        runs: Some(kind),
        ..idle("b")
    };
    let with = |holder, seats| {
        let mut observed = observed(holder, seats);
        observed.has_orphan = true;
        plan(&observed)
    };
    let (never, silent, looked) = (LastLook::Never, LastLook::Silent, LastLook::Idle);
    for (case, seats, expected) in [
        ("alone", vec![], Some("c")),
        ("one asks to join", vec![join(looked)], Some("c")),
        ("half done", vec![seat("a", Some(true))], Some("a")),
        ("a join runs", vec![runs(JobKind::Join)], None),
        ("an update runs", vec![runs(JobKind::Upgrade)], Some("c")),
        (
            "a host was not asked",
            vec![Seat {
                look: never,
                ..idle("b")
            }],
            None,
        ),
        (
            "a silent host",
            vec![Seat {
                look: silent,
                ..idle("b")
            }],
            Some("c"),
        ),
    ] {
        let plan = with(Holder::Nobody, seats);
        assert_eq!(granted(&plan), expected, "{case}");
    }
    let plan = with(Holder::Nobody, vec![join(looked)]);
    let [(uid, why)] = &plan.waits[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(uid, "uid-a");
    assert!(
        why.contains("belongs to no Machine is removed first"),
        "{why}"
    );
    let held = with(of("c", TurnAction::Remove), vec![join(looked)]);
    assert_eq!(granted(&held), None, "the Cluster has it");
}

proptest! {
    #[test]
    fn nobody_starves_while_each_ends_what_it_begins(
        mut asks in prop::collection::vec(prop::option::of(any::<bool>()), 1..6),
    ) {
        let wanted = asks.iter().flatten().count();
        for served in 0..=wanted {
            let seats = asks.iter().enumerate();
            let seats = seats.map(|(which, asks)| seat(&which.to_string(), *asks)).collect();
            let plan = plan(&observed(Holder::Nobody, seats));
            let granted_now = usize::from(!plan.actions.is_empty());
            prop_assert_eq!(plan.waits.len() + granted_now, wanted - served);
            let Some(name) = granted(&plan) else {
                prop_assert_eq!(served, wanted);
                continue;
            };
            let which: usize = name.parse().expect("a number");
            prop_assert!(asks[which].take().is_some());
        }
    }
}
