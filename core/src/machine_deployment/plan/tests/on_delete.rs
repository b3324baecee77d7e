//! The OnDelete strategy.

use super::*;

#[test]
fn on_delete_replaces_what_was_deleted_and_nothing_else() {
    let table: [(&str, i32, Vec<ObservedSet>, &[&str]); 8] = [
        (
            "nothing was deleted",
            4,
            vec![
                old("a", (3, 3, 3)),
                set("b", "v1.35.1", 2, (1, 1, 1)),
                new((0, 0, 0)),
            ],
            &[],
        ),
        (
            "old sets shrink to what is left",
            3,
            vec![
                old("a", (3, 2, 2)),
                set("b", "v1.35.1", 2, (1, 0, 0)),
                new((0, 0, 0)),
            ],
            &["a 2", "b 0"],
        ),
        (
            "what is too many comes from old sets",
            3,
            vec![
                old("a", (1, 1, 1)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what was deleted counts to that",
            3,
            vec![
                old("a", (1, 0, 0)),
                set("b", "v1.35.1", 2, (2, 2, 2)),
                new((2, 2, 2)),
            ],
            &["a 0", "b 1"],
        ),
        (
            "what is missing comes from the current set",
            6,
            vec![old("a", (1, 1, 1)), new((2, 2, 2))],
            &["new 5"],
        ),
        (
            "too many of the current template",
            1,
            vec![new((5, 5, 5))],
            &["new 1"],
        ),
        (
            "and old ones with them",
            1,
            vec![old("a", (3, 3, 3)), new((5, 5, 5))],
            &["a 0", "new 1"],
        ),
        (
            "what is not available goes before what is",
            3,
            vec![old("a", (3, 3, 3)), new((2, 2, 0))],
            &["new 0"],
        ),
    ];
    let strategy = Strategy {
        type_: StrategyType::OnDelete,
        ..Strategy::default()
    };
    for (name, replicas, sets, expected) in table {
        let plan = plan(&deployment(replicas, strategy.clone(), sets), at(110));
        assert_eq!(steps(&plan), expected, "{name}: {:?}", plan.findings);
    }
}

#[test]
fn under_on_delete_old_sets_make_no_machines_and_under_rolling_update_they_may() {
    let sets = vec![old("old", (3, 3, 3)), new((0, 0, 0))];
    let strategy = Strategy {
        type_: StrategyType::OnDelete,
        ..Strategy::default()
    };
    let mut observed = deployment(3, strategy, sets);
    let disabled = plan(&observed, at(110));
    assert_eq!(
        update(&disabled, "old").annotations[ANNOTATION_DISABLE_CREATE].as_deref(),
        Some("true")
    );
    assert!(
        !update(&disabled, "new")
            .annotations
            .contains_key(ANNOTATION_DISABLE_CREATE)
    );
    for set in &mut observed.sets {
        set.annotations
            .insert(ANNOTATION_DISABLE_CREATE.into(), "true".into());
    }
    observed.strategy = rolling(Int(1), Int(0));
    let enabled = plan(&observed, at(110));
    for name in ["old", "new"] {
        assert_eq!(
            update(&enabled, name).annotations[ANNOTATION_DISABLE_CREATE],
            None,
            "{name}"
        );
    }
}
