//! What keeps it from acting.

use super::*;
use crate::api::conditions::Reason;

#[test]
fn without_its_class_it_scales_and_rolls_nothing() {
    let mut observed = deployment(4, rolling(Int(1), Int(0)), vec![old("old", (3, 3, 3))]);
    observed.provider_spec = Err(Why::new(Reason::MachineClassMissing, "MachineClass large"));
    let unresolved = plan(&observed, at(110));
    assert_eq!(steps(&unresolved), ["old 4"]);
    let progressing = finding(&unresolved, "Progressing");
    assert_eq!(
        (progressing.status, progressing.reason()),
        (Status::False, Reason::MachineClassMissing)
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
    assert_eq!(finding(&paused, "Paused").reason(), "PausedByAnnotation");
    let says = "Cluster c has the annotation cluster.k8s.io/paused, so nothing is done; to go on: kubectl -n default annotate cluster c cluster.k8s.io/paused-";
    for condition in ["Paused", "Progressing", "Ready"] {
        assert_eq!(finding(&paused, condition).message(), says, "{condition}");
    }
    assert_eq!(paused.counts.replicas, 3);
    observed.paused_by = None;
    observed.deleting = true;
    assert_eq!(plan(&observed, at(110)).actions, []);
}

#[test]
fn the_next_step_waits_until_every_set_has_answered_to_the_last() {
    let lagging = |set: ObservedSet| ObservedSet {
        lagging: true,
        ..set
    };
    let tables = [
        vec![lagging(old("old", (3, 3, 3))), new((1, 1, 1))],
        vec![old("old", (3, 3, 3)), lagging(new((1, 1, 1)))],
        vec![lagging(old("old", (3, 3, 3)))],
    ];
    for sets in tables {
        let plan = plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110));
        assert_eq!(plan.actions, []);
        let progressing = finding(&plan, "Progressing");
        assert_eq!(progressing.reason(), "WaitingForMachines");
        assert!(progressing.message().contains("to count its Machines"));
    }
}

#[test]
fn two_percentages_that_come_to_nothing_say_that_one_may_be_missing() {
    let percent = |text: &str| IntOrString::String(text.into());
    let strategy = rolling(percent("0%"), percent("25%"));
    let plan = plan(&deployment(3, strategy, vec![new((3, 3, 3))]), at(110));
    let message = &finding(&plan, "Available").message();
    assert!(
        message.contains(
            "2 required (3 spec.replicas − 1 maxUnavailable; maxSurge and maxUnavailable round to 0"
        ),
        "{message}"
    );
}

#[test]
fn a_wrong_limit_stops_it_and_says_what_to_write() {
    let wrong = IntOrString::String("5".into());
    let plan = plan(
        &deployment(3, rolling(wrong, Int(0)), vec![old("old", (3, 3, 3))]),
        at(110),
    );
    assert_eq!((plan.actions.len(), plan.phase), (0, Phase::Failed));
    assert_eq!(
        finding(&plan, "Progressing").reason(),
        "InvalidConfiguration"
    );
}
