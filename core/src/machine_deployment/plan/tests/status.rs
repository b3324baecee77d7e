//! What is said of it.

use super::*;
use crate::api::conditions::Reason;
use crate::trouble::tests::explained;

#[test]
fn it_is_available_while_no_more_are_missing_than_may() {
    let table = [
        (3, 0, 3, true),
        (3, 0, 2, false),
        (3, 1, 2, true),
        (3, 9, 0, true),
        (0, 0, 0, true),
    ];
    for (replicas, unavailable, have, expected) in table {
        let sets = vec![new((replicas, replicas, have))];
        let plan = plan(
            &deployment(replicas, rolling(Int(1), Int(unavailable)), sets),
            at(110),
        );
        assert_eq!(
            finding(&plan, "Available").status == Status::True,
            expected,
            "{replicas} {unavailable} {have}"
        );
    }
}

#[test]
fn it_is_complete_only_when_all_machines_are_available_and_of_the_current_template() {
    let complete = |sets: Vec<ObservedSet>| {
        let mut observed = deployment(3, rolling(Int(1), Int(0)), sets);
        for set in &mut observed.sets {
            set.annotations
                .insert(ANNOTATION_DESIRED_REPLICAS.into(), "3".into());
        }
        let plan = plan(&observed, at(110));
        finding(&plan, "Progressing").reason() == "Complete"
    };
    assert!(complete(vec![new((3, 3, 3))]));
    assert!(complete(vec![old("old", (0, 0, 0)), new((3, 3, 3))]));
    assert!(!complete(vec![new((3, 3, 2))]), "one is not available");
    assert!(!complete(vec![new((3, 2, 2))]), "one is missing");
    assert!(
        !complete(vec![old("old", (0, 1, 1)), new((3, 3, 3))]),
        "an old one is left"
    );
    assert!(
        !complete(vec![deleting(old("old", (0, 0, 0)), 1), new((3, 3, 3))]),
        "an old one is going"
    );
    assert!(!complete(vec![old("old", (3, 3, 3))]), "all are old");
}

#[test]
fn it_is_not_complete_while_a_machine_is_left_at_another_version() {
    let machine = explained(json!({"metadata": {"name": "w-1"}, "spec": {},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "NodeReady", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "UpToDate", "status": "False", "reason": "KubeletVersionDiffers",
                "message": "kubelet v1.36.3, wanted v1.35.4", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}));
    let mut set = new((3, 3, 3));
    set.annotations
        .insert(ANNOTATION_DESIRED_REPLICAS.into(), "3".into());
    set.take_in([&machine]);
    let plan = plan(&deployment(3, rolling(Int(1), Int(0)), vec![set]), at(110));
    let replaces = |action: &Action| match action {
        Action::UpdateSet(update) => update.replicas.is_some(),
        _ => true,
    };
    assert!(!plan.actions.iter().any(replaces), "it serves, and is left");
    assert_eq!(finding(&plan, "Available").status, Status::True);
    for condition in ["Progressing", "Ready"] {
        let told = finding(&plan, condition);
        assert_eq!(
            (told.status, told.reason()),
            (Status::False, Reason::KubeletVersionDiffers)
        );
        let says = "1 Machine runs other versions than the current template wants, and nothing brings them to it. \
            Machine w-1: kubelet v1.36.3, wanted v1.35.4";
        assert!(told.message().ends_with(says), "{}", told.message());
    }
}

#[test]
fn the_phase_sums_it_up() {
    let table: [(&str, Vec<ObservedSet>, Phase); 5] = [
        (
            "fewer than asked for",
            vec![new((3, 1, 1))],
            Phase::ScalingUp,
        ),
        (
            "more than asked for",
            vec![new((3, 5, 5))],
            Phase::ScalingDown,
        ),
        (
            "some are going",
            vec![deleting(new((3, 3, 3)), 1)],
            Phase::ScalingDown,
        ),
        (
            "old ones are left",
            vec![old("old", (1, 1, 1)), new((2, 2, 2))],
            Phase::RollingOut,
        ),
        ("as asked for", vec![new((3, 3, 3))], Phase::Running),
    ];
    for (name, sets, expected) in table {
        assert_eq!(
            plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110)).phase,
            expected,
            "{name}"
        );
    }
}

#[test]
fn every_step_says_why_before_it_is_taken() {
    let sets = vec![old("old", (3, 3, 3)), new((1, 1, 1))];
    let plan = plan(&deployment(3, rolling(Int(1), Int(0)), sets), at(110));
    let progressing = finding(&plan, "Progressing");
    assert_eq!(
        (progressing.status, progressing.reason()),
        (Status::True, Reason::MachineSetUpdated)
    );
    assert_eq!(
        progressing.message(),
        "old MachineSet old from 3 to 2: 4 available replicas > 3 minimum available replicas"
    );
    assert_eq!(
        update(&plan, "old").because,
        ["4 available replicas > 3 minimum available replicas"]
    );
    assert_eq!(
        finding(&plan, "RollingOut").message(),
        "1/3 Machines of the current template are available; old MachineSets: old (3 Machines)"
    );
}

#[test]
fn a_second_plan_of_the_same_knowledge_is_the_same_plan() {
    let sets = vec![old("old", (3, 3, 3)), new((1, 1, 1))];
    let observed = deployment(3, rolling(Int(1), Int(0)), sets);
    assert_eq!(plan(&observed, at(110)), plan(&observed, at(110)));
}

#[test]
fn its_label_selector_is_that_of_its_machines_for_the_scale_subresource() {
    let mut observed = deployment(1, rolling(Int(1), Int(0)), vec![new((1, 1, 1))]);
    let label = ("pool".to_owned(), "workers".to_owned());
    observed.selector.match_labels = Some([label].into());
    let plan = plan(&observed, at(110));
    assert_eq!(plan.label_selector.as_deref(), Some("pool=workers"));
}
