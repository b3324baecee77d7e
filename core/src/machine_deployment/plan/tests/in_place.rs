//! Strategy `InPlace`: what an edit in the middle of a step does, and what it must not.

use super::*;
use crate::api::machine_deployment::InPlace;
use crate::api::names::{ANNOTATION_DISABLE_CREATE, ANNOTATION_MOVES_TO};

fn in_place() -> Strategy {
    Strategy {
        type_: StrategyType::InPlace,
        ..Strategy::default()
    }
}

fn moving(mut set: ObservedSet, to: &str) -> ObservedSet {
    set.annotations
        .insert(ANNOTATION_MOVES_TO.into(), to.into());
    set
}

fn owning(mut set: ObservedSet, count: i32) -> ObservedSet {
    set.owned = Some(count);
    set
}

fn of(strategy: Strategy, sets: Vec<ObservedSet>) -> Plan {
    plan(&deployment(3, strategy, sets), at(110))
}

/// What the plan writes of an annotation of this set: its value, `-` where it is removed, nothing
/// where it stays.
fn writes<'a>(plan: &'a Plan, set: &str, annotation: &str) -> Option<&'a str> {
    plan.actions.iter().find_map(|action| match action {
        Action::UpdateSet(update) if update.name == set => {
            let value = update.annotations.get(annotation)?;
            Some(value.as_deref().unwrap_or("-"))
        }
        _ => None,
    })
}

#[test]
fn one_machine_moves_at_a_time_and_the_new_set_is_written_first() {
    let step = of(in_place(), vec![old("a", (3, 3, 3)), new((0, 0, 0))]);
    assert_eq!(steps(&step), ["new 1", "a 2"]);
    assert_eq!(writes(&step, "a", ANNOTATION_MOVES_TO), Some("new"));
    let creates_none = Some("true");
    assert_eq!(
        writes(&step, "new", ANNOTATION_DISABLE_CREATE),
        creates_none
    );
    let moves = of(
        in_place(),
        vec![moving(old("a", (2, 3, 3)), "new"), new((1, 0, 0))],
    );
    assert_eq!(steps(&moves), Vec::<String>::new());
    let updates = of(in_place(), vec![old("a", (2, 2, 2)), new((1, 1, 0))]);
    assert_eq!(steps(&updates), Vec::<String>::new());
}

#[test]
fn the_next_one_moves_before_the_new_set_has_counted_the_last_and_none_is_created_meanwhile() {
    let gated = |mut set: ObservedSet, value: &str| {
        let annotation = (ANNOTATION_DISABLE_CREATE.to_owned(), value.to_owned());
        set.annotations.extend([annotation]);
        set
    };
    let arrived = || owning(new((2, 1, 1)), 2);
    let a = |counts| owning(old("a", counts), counts.1);
    // one is updated: it has not counted it, and nothing is to spare; what it may create stays as
    // it was
    let updates = of(in_place(), vec![a((1, 1, 1)), gated(arrived(), "true")]);
    assert_eq!(steps(&updates), Vec::<String>::new());
    assert_eq!(writes(&updates, "new", ANNOTATION_DISABLE_CREATE), None);
    // the old set has not counted what left it: that may be the one that is available
    let behind = owning(old("a", (1, 2, 2)), 1);
    let waits = of(in_place(), vec![behind, gated(arrived(), "true")]);
    assert_eq!(steps(&waits), Vec::<String>::new());
    // two may be away: the next one moves, whether a Machine came from the other set or was created
    let two = Strategy {
        in_place: Some(InPlace {
            max_unavailable: Some(Int(2)),
        }),
        ..in_place()
    };
    // what was available before is not any more, and its set has not counted that either
    let mut failing = arrived();
    failing.owned_ready = Some(0);
    let waits = of(two.clone(), vec![a((1, 1, 1)), gated(failing, "true")]);
    assert_eq!(steps(&waits), Vec::<String>::new());
    for before in ["true", "false"] {
        let next = of(two.clone(), vec![a((1, 1, 1)), gated(arrived(), before)]);
        assert_eq!(steps(&next), ["new 3", "a 0"], "{before}");
        let written = writes(&next, "new", ANNOTATION_DISABLE_CREATE);
        assert_eq!(written.unwrap_or("true"), "true", "{before}");
    }
}

#[test]
fn what_moved_is_not_lost_before_its_set_has_counted_it() {
    // the template is that of set a again; b has the Machine, and its status is of before
    let b = || set("b", "v1.37.0", 8, (1, 0, 0));
    let back = |b: ObservedSet| of(in_place(), vec![owning(b, 1), owning(new((2, 2, 2)), 2)]);
    assert_eq!(steps(&back(b())), Vec::<String>::new());
    let counted = set("b", "v1.37.0", 8, (1, 1, 1));
    assert_eq!(steps(&back(counted)), ["new 3", "b 0"]);
}

#[test]
fn a_machine_that_is_lost_is_made_up_from_the_new_template() {
    let aligned = of(in_place(), vec![old("a", (3, 2, 2)), new((0, 0, 0))]);
    assert_eq!(steps(&aligned), ["new 1", "a 2"]);
    // should it turn up, it moves too, and is the one that was asked for
    assert_eq!(writes(&aligned, "a", ANNOTATION_MOVES_TO), Some("new"));
    let creates_none = writes(&aligned, "new", ANNOTATION_DISABLE_CREATE);
    assert_eq!(creates_none, Some("true"));
    let mut asked = new((1, 0, 0));
    let disabled = (ANNOTATION_DISABLE_CREATE.to_owned(), "true".to_owned());
    asked.annotations.extend([disabled]);
    let answered = of(in_place(), vec![old("a", (2, 2, 2)), asked.clone()]);
    assert_eq!(steps(&answered), Vec::<String>::new());
    let creates = writes(&answered, "new", ANNOTATION_DISABLE_CREATE);
    assert_eq!(creates, Some("-"));
    let turned_up = moving(old("a", (2, 3, 2)), "new");
    let moves = of(in_place(), vec![turned_up, asked]);
    assert_eq!(writes(&moves, "new", ANNOTATION_DISABLE_CREATE), None);
    // what is in deletion holds its host
    let going = deleting(old("a", (3, 2, 2)), 1);
    let aligned = of(in_place(), vec![going, new((0, 0, 0))]);
    assert_eq!(steps(&aligned), ["a 2"]);
    let made = of(in_place(), vec![old("a", (2, 2, 2)), new((0, 0, 0))]);
    assert_eq!(steps(&made), ["new 1"]);
    // as long as its host is not free, the others go on
    let hangs = deleting(old("a", (2, 2, 3)), 1);
    let goes_on = of(in_place(), vec![hangs, new((0, 0, 0))]);
    assert_eq!(
        writes(&goes_on, "new", ANNOTATION_DISABLE_CREATE),
        Some("true")
    );
}

#[test]
fn a_surplus_that_moves_no_more_is_kept() {
    let a = || moving(old("a", (2, 3, 3)), "new");
    // the strategy changes before it has moved
    let rolled = of(rolling(Int(0), Int(1)), vec![a(), new((1, 0, 0))]);
    let to = steps(&rolled);
    assert!(!to.contains(&"a 1".to_owned()), "{to:?}");
    // the template is that of the set itself again
    let mut own = moving(new((2, 3, 3)), "b");
    own.counts.ready = 3;
    let back = of(in_place(), vec![own, set("b", "v1.37.0", 8, (1, 0, 0))]);
    assert!(
        steps(&back).contains(&"new 3".to_owned()),
        "{:?}",
        steps(&back)
    );
    // and nothing is created where a Machine is on its way to
    let mut paused = deployment(3, in_place(), vec![a(), new((1, 0, 0))]);
    paused.paused = true;
    let paused = plan(&paused, at(110));
    assert_ne!(writes(&paused, "new", ANNOTATION_DISABLE_CREATE), Some("-"));
}

#[test]
fn nothing_else_is_done_before_what_moves_has_arrived() {
    let sets = |to: &str, new_counts| vec![moving(old("a", (2, 3, 3)), to), new(new_counts)];
    let of = |replicas, sets| plan(&deployment(replicas, in_place(), sets), at(110));
    // it would arrive at a set that was asked for none
    let scaled = of(2, sets("new", (1, 0, 0)));
    assert_eq!(steps(&scaled), Vec::<String>::new());
    // one that has nowhere to go stays, and the next one moves after that
    let lost = of(3, sets("gone", (1, 1, 1)));
    assert_eq!(steps(&lost), ["a 3"]);
}

#[test]
fn what_cannot_be_changed_on_a_machine_that_runs_moves_none() {
    let other = |counts| {
        let mut set = old("a", counts);
        set.template.spec.provider_spec.value = Some(json!({"kind": "Y"}));
        set
    };
    let versions = |counts| set("b", "v1.35.0", 2, counts);
    // beside Machines whose versions alone differ, too
    for sets in [
        vec![other((3, 3, 3))],
        vec![other((1, 1, 1)), versions((2, 2, 2))],
    ] {
        let sets = [sets, vec![new((0, 0, 0))]].concat();
        let refused = of(in_place(), sets);
        assert_eq!(steps(&refused), Vec::<String>::new());
    }
    // a set without Machines is in nobody's way
    let sets = vec![other((0, 0, 0)), versions((3, 3, 3)), new((0, 0, 0))];
    assert_eq!(steps(&of(in_place(), sets)), ["new 1", "b 2"]);
}

/// Wanted, current and available Machines; how many of them are marked.
type Half = ((i32, i32, i32), i32);

#[test]
fn a_scale_down_in_a_move_takes_marked_machines_first() {
    let table: [(&str, i32, Half, Half, &[&str]); 10] = [
        // one is being updated
        ("no mark", 2, ((2, 2, 2), 0), ((1, 1, 0), 0), &["new 0"]),
        (
            "of the old set",
            2,
            ((2, 2, 2), 1),
            ((1, 1, 0), 0),
            &["a 1"],
        ),
        (
            "the one that is updated",
            2,
            ((2, 2, 2), 0),
            ((1, 1, 0), 1),
            &["new 0"],
        ),
        // one was updated
        (
            "no mark, all well",
            2,
            ((2, 2, 2), 0),
            ((1, 1, 1), 0),
            &["a 1"],
        ),
        (
            "of the new set",
            2,
            ((2, 2, 2), 0),
            ((1, 1, 1), 1),
            &["new 0"],
        ),
        (
            "of the new set, beside one that is updated",
            2,
            ((1, 1, 1), 0),
            ((2, 2, 1), 1),
            &["new 1"],
        ),
        (
            "one of each, for two",
            1,
            ((2, 2, 2), 1),
            ((1, 1, 1), 1),
            &["a 1", "new 0"],
        ),
        (
            "one of each, for one",
            2,
            ((2, 2, 2), 1),
            ((1, 1, 1), 1),
            &["a 1"],
        ),
        (
            "fewer than go",
            1,
            ((2, 2, 2), 1),
            ((1, 1, 0), 0),
            &["a 1", "new 0"],
        ),
        (
            "a mark asks for nothing where the number stays",
            3,
            ((2, 2, 2), 1),
            ((1, 1, 0), 1),
            &[],
        ),
    ];
    for (name, replicas, (a, of_a), (b, of_new), expected) in table {
        let sets = vec![
            owning(marked(old("a", a), of_a), a.1),
            owning(marked(new(b), of_new), b.1),
        ];
        let plan = plan(&deployment(replicas, in_place(), sets), at(110));
        assert_eq!(steps(&plan), expected, "{name}: {:?}", plan.findings);
        // it is deleted, and does not move
        let moves = writes(&plan, "a", ANNOTATION_MOVES_TO);
        assert_eq!(moves.unwrap_or("-"), "-", "{name}");
    }
}

#[test]
fn what_is_not_created_yet_is_given_up_before_a_marked_machine() {
    let sets = vec![marked(old("a", (2, 2, 2)), 1), new((1, 0, 0))];
    let scaled = plan(&deployment(2, in_place(), sets), at(110));
    assert_eq!(steps(&scaled), ["new 0"]);
}

/// The strategy, whether it is paused, marked Machines of the old and of the new set, and the
/// steps.
type Row = (fn() -> Strategy, bool, (i32, i32), &'static [&'static str]);

#[test]
fn a_scale_down_takes_marked_machines_first_while_nothing_rolls_and_under_on_delete() {
    let sets = |a, of_new| {
        vec![
            marked(old("a", (2, 2, 2)), a),
            marked(new((2, 2, 2)), of_new),
        ]
    };
    let on_delete = || Strategy {
        type_: StrategyType::OnDelete,
        ..Strategy::default()
    };
    let rolls: fn() -> Strategy = || rolling(Int(1), Int(0));
    let rows: [Row; 9] = [
        (on_delete, false, (0, 0), &["a 1"]),
        (on_delete, false, (0, 1), &["new 1"]),
        (on_delete, false, (1, 1), &["a 1"]),
        (rolls, true, (0, 0), &["a 1"]),
        (rolls, true, (0, 1), &["new 1"]),
        (rolls, true, (1, 0), &["a 1"]),
        (in_place, true, (0, 1), &["new 1"]),
        // a set of which more are marked than go
        (in_place, true, (0, 2), &["new 1"]),
        // old ones leave in any case
        (rolls, false, (0, 0), &["a 1"]),
    ];
    for (strategy, paused, (a, of_new), expected) in rows {
        let mut observed = deployment(3, strategy(), sets(a, of_new));
        observed.paused = paused;
        // what they were written for
        for set in &mut observed.sets {
            set.annotations
                .insert(ANNOTATION_DESIRED_REPLICAS.into(), "4".into());
        }
        let plan = plan(&observed, at(110));
        assert_eq!(
            steps(&plan),
            expected,
            "{:?} {a} {of_new}",
            strategy().type_
        );
    }
}
