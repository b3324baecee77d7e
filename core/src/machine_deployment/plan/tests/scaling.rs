//! How many Machines each set is to have.

use super::*;

#[test]
fn the_current_set_grows_within_what_there_may_be_and_shrinks_to_what_is_asked_for() {
    check(vec![
        (
            "up to what is asked for",
            2,
            (1, 0),
            vec![new((0, 0, 0))],
            &["new 2"],
        ),
        (
            "down to nothing",
            0,
            (1, 0),
            vec![new((2, 2, 2))],
            &["new 0"],
        ),
        ("it is as asked for", 2, (1, 0), vec![new((2, 2, 2))], &[]),
        (
            "by the surge alone",
            3,
            (2, 0),
            vec![old("old", (3, 3, 3)), new((0, 0, 0))],
            &["new 2"],
        ),
        (
            "there is no room",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "not beyond what is asked for",
            6,
            (3, 0),
            vec![old("old", (1, 1, 1)), new((5, 5, 4))],
            &["new 6"],
        ),
        (
            "what an old set has not deleted yet takes room",
            3,
            (1, 0),
            vec![old("old", (2, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "what an old set has not made yet takes room",
            3,
            (2, 0),
            vec![old("old", (3, 2, 2)), new((2, 2, 2))],
            &[],
        ),
        (
            "what is in deletion takes room",
            3,
            (1, 0),
            vec![deleting(old("old", (2, 2, 2)), 1), new((1, 1, 1))],
            &[],
        ),
        (
            "what a set that is being deleted still has takes room",
            3,
            (1, 0),
            vec![
                ObservedSet {
                    deleting: true,
                    ..old("gone", (2, 2, 2))
                },
                new((2, 2, 2)),
            ],
            &[],
        ),
    ]);
}

#[test]
fn old_sets_shrink_only_by_what_can_be_done_without() {
    check(vec![
        (
            "nothing is left",
            3,
            (1, 0),
            vec![old("old", (0, 0, 0)), new((3, 3, 3))],
            &[],
        ),
        (
            "at the minimum",
            3,
            (1, 0),
            vec![old("old", (2, 2, 2)), new((2, 2, 1))],
            &[],
        ),
        (
            "below the minimum",
            3,
            (1, 0),
            vec![old("old", (2, 2, 2)), new((2, 2, 0))],
            &[],
        ),
        (
            "one to spare",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 1))],
            &["old 2"],
        ),
        (
            "all to spare",
            3,
            (3, 0),
            vec![old("old", (3, 3, 3)), new((3, 3, 3))],
            &["old 0"],
        ),
        (
            "what is going already is not to spare",
            3,
            (1, 0),
            vec![old("old", (2, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "nor what goes from another set",
            6,
            (1, 0),
            vec![old("a", (2, 3, 3)), old("b", (3, 3, 3)), new((1, 1, 1))],
            &[],
        ),
        (
            "a new one that is not there yet",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 0, 0))],
            &[],
        ),
        (
            "a new one that is not available yet",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((1, 1, 0))],
            &[],
        ),
        (
            "the oldest set first",
            6,
            (1, 1),
            vec![
                set("b", "v1.35.1", 2, (2, 2, 2)),
                set("a", "v1.35.0", 1, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 1", "new 3"],
        ),
        (
            "several sets, as far as it goes",
            6,
            (0, 3),
            vec![
                set("a", "v1.35.0", 1, (2, 2, 2)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what the current set gives up in the same step is not to spare",
            3,
            (1, 0),
            vec![old("old", (3, 3, 3)), new((4, 4, 4))],
            &["old 0", "new 3"],
        ),
    ]);
}

#[test]
fn what_the_current_set_still_deletes_does_not_stay() {
    check(vec![(
        "a template that was brought back while its set is emptied",
        10,
        (0, 5),
        vec![old("old", (5, 5, 5)), new((0, 3, 3))],
        &["new 2"],
    )]);
}

#[test]
fn unhealthy_machines_of_old_sets_go_first() {
    check(vec![
        (
            "before available ones",
            3,
            (1, 0),
            vec![unhealthy(old("old", (3, 3, 2))), new((1, 1, 1))],
            &["old 2"],
        ),
        (
            "of a newer set before available ones of an older",
            4,
            (1, 0),
            vec![
                old("a", (3, 3, 3)),
                unhealthy(set("b", "v1.35.1", 2, (1, 1, 0))),
                new((1, 1, 1)),
            ],
            &["b 0"],
        ),
        (
            "never so many that too few are left should all be well after all",
            3,
            (1, 0),
            vec![unhealthy(old("old", (3, 3, 0))), new((1, 1, 0))],
            &[],
        ),
        (
            "and available ones with them, where they can be spared",
            4,
            (2, 1),
            vec![unhealthy(old("old", (4, 4, 3))), new((2, 2, 2))],
            &["old 1"],
        ),
    ]);
}

#[test]
fn the_roll_waits_for_what_an_old_set_must_bring_back() {
    check(vec![
        (
            "a lost Machine",
            6,
            (1, 2),
            vec![old("old", (3, 2, 2)), new((3, 3, 3))],
            &[],
        ),
        (
            "one that is made again and not available yet",
            6,
            (0, 2),
            vec![old("old", (3, 3, 2)), new((3, 3, 3))],
            &[],
        ),
        (
            "but an unhealthy one goes meanwhile",
            6,
            (0, 3),
            vec![
                unhealthy(old("a", (2, 2, 1))),
                set("b", "v1.35.1", 2, (2, 2, 1)),
                new((2, 2, 2)),
            ],
            &["a 1"],
        ),
    ]);
}
