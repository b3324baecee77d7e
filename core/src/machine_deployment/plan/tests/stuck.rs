//! Rolls that do not move, and what is given up for them.

use super::*;

#[test]
fn after_the_deadline_nothing_is_waited_for_that_can_be_done_without() {
    let table: [(&str, Vec<ObservedSet>, &[&str]); 6] = [
        (
            "a lost Machine",
            vec![old("old", (2, 1, 1)), new((2, 2, 2))],
            &["old 1"],
        ),
        (
            "one that does not become available",
            vec![old("old", (2, 2, 1)), new((2, 2, 2))],
            &["old 1"],
        ),
        (
            "even when the new one does not either: it may need the room",
            vec![old("old", (3, 3, 2)), new((1, 1, 0))],
            &["old 2"],
        ),
        (
            "one at a time",
            vec![unhealthy(old("old", (3, 3, 1))), new((1, 1, 0))],
            &["old 2"],
        ),
        (
            "never an available one",
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "nor when nothing is available",
            vec![old("old", (3, 3, 0)), new((1, 1, 0))],
            &[],
        ),
    ];
    for (name, sets, expected) in table {
        let observed = deployment(3, rolling(Int(1), Int(0)), sets);
        let late = plan(&observed, at(700));
        assert_eq!(steps(&late), expected, "{name}: {:?}", late.findings);
    }
}

#[test]
fn a_lost_machine_is_given_up_when_its_own_time_has_passed() {
    // nothing has moved since 100 s; one of the old set was lost at 650 s
    let sets = || {
        let mut old = old("old", (2, 1, 1));
        old.missing_since = Some(at(650));
        vec![old, new((2, 2, 2))]
    };
    let observed = deployment(3, rolling(Int(1), Int(0)), sets());
    for (seconds, expected) in [(651, &[][..]), (1249, &[]), (1250, &["old 1"])] {
        let plan = plan(&observed, at(seconds));
        assert_eq!(steps(&plan), expected, "{seconds}: {:?}", plan.findings);
    }
    let mut unlimited = deployment(3, rolling(Int(1), Int(0)), sets());
    unlimited.progress_deadline_seconds = 0;
    assert_eq!(steps(&plan(&unlimited, at(9999))), [] as [&str; 0]);
}

#[test]
fn a_deadlock_is_broken_only_when_nothing_moves_and_the_new_machines_are_well() {
    // The room is taken by a deletion that is over in a moment; nothing else can go on.
    let stuck = |old_counts, new_counts| vec![unhealthy(old("old", old_counts)), new(new_counts)];
    let gate = |sets: Vec<ObservedSet>| {
        let observed = deployment(4, rolling(Int(0), Int(1)), sets);
        steps(&plan(&observed, at(110)))
    };
    assert_eq!(gate(stuck((2, 2, 1), (2, 2, 2))), ["old 1"]);
    assert_eq!(
        gate(stuck((2, 2, 1), (2, 2, 1))),
        [] as [&str; 0],
        "the new ones are not well"
    );
    assert_eq!(
        gate(stuck((1, 2, 1), (2, 2, 2))),
        [] as [&str; 0],
        "one is going already"
    );
}

#[test]
fn a_replaced_revision_gives_up_what_has_no_node_yet() {
    let mut bad = set("bad", "v1.36.0", 2, (2, 2, 1));
    bad.counts.starting = 1;
    let mut repairing = set("good", "v1.35.0", 1, (2, 2, 1));
    repairing.counts.starting = 1;
    let observed = deployment(3, rolling(Int(1), Int(0)), vec![repairing, bad]);
    let first = plan(&observed, at(110));
    assert_eq!(
        steps(&first),
        ["bad 1", "+ 0"],
        "what the older set repairs is kept"
    );
    assert!(
        matches!(first.actions.last(), Some(Action::CreateSet(_))),
        "the old ones are written first"
    );
}
