//! What keeps it from acting.

use super::*;

#[test]
fn without_its_class_it_scales_and_rolls_nothing() {
    let mut observed = deployment(4, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.provider_spec = Err(Unresolved {
        reason: "MachineClassNotFound",
        message: "MachineClass large".into(),
    });
    let unresolved = plan(&observed, at(110));
    assert_eq!(steps(&unresolved), ["old 4"]);
    let progressing = finding(&unresolved, "Progressing");
    assert_eq!(
        (progressing.status, progressing.reason),
        (Status::False, "MachineClassNotFound")
    );
    assert_eq!(unresolved.phase, Phase::Failed);
    observed.sets.clear();
    assert_eq!(plan(&observed, at(110)).actions, []);
}

#[test]
fn nothing_is_done_while_an_annotation_pauses_it_or_it_is_being_deleted() {
    let mut observed = deployment(5, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.paused_by = Some("Cluster c".into());
    let paused = plan(&observed, at(110));
    assert_eq!(paused.actions, []);
    assert_eq!(finding(&paused, "Paused").reason, "PausedByAnnotation");
    assert_eq!(paused.counts.replicas, 3);
    observed.paused_by = None;
    observed.deleting = true;
    assert_eq!(plan(&observed, at(110)).actions, []);
}

#[test]
fn a_wrong_limit_stops_it_and_says_what_to_write() {
    let wrong = IntOrString::String("5".into());
    let plan = plan(
        &deployment(3, rolling(wrong, Int(0)), vec![old("old", (3, 3, 3))]),
        at(110),
    );
    assert_eq!((plan.actions.len(), plan.phase), (0, Phase::Failed));
    assert_eq!(finding(&plan, "Progressing").reason, "InvalidConfiguration");
}
