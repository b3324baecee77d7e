//! A template of which no Machine may be made yet: no Machine is given up for it.

use super::*;
use crate::api::conditions::ConditionType;
use crate::api::machine_deployment::InPlace;
use crate::machine_set::Gate;

const WHY: &str = "the control plane runs v1.35.0";

fn gated(mut observed: Observed) -> Observed {
    observed.gate = Some(Gate {
        reason: Reason::VersionSkew,
        message: WHY.into(),
    });
    observed
}

fn of_type(type_: StrategyType) -> Strategy {
    Strategy {
        type_,
        in_place: (type_ == StrategyType::InPlace).then_some(InPlace {
            max_unavailable: Some(Int(1)),
        }),
        ..Strategy::default()
    }
}

fn steps(plan: &Plan) -> Vec<(String, Option<(i32, i32)>)> {
    let step = |action: &Action| match action {
        Action::UpdateSet(update) => (update.name.clone(), update.replicas),
        other => (format!("{other:?}"), None),
    };
    plan.actions.iter().map(step).collect()
}

#[test]
fn no_machine_is_given_up_for_a_template_that_may_not_be_made_yet() {
    let strategies = [
        rolling(Int(0), Int(1)),
        rolling(Int(1), Int(0)),
        of_type(StrategyType::OnDelete),
        of_type(StrategyType::InPlace),
    ];
    for strategy in strategies {
        for sets in [
            vec![old("old", (3, 3, 3))],
            vec![old("old", (3, 3, 2))],
            vec![unhealthy(old("old", (3, 3, 2)))],
            vec![old("old", (2, 2, 2)), new((1, 1, 1))],
        ] {
            let case = format!("{strategy:?} {sets:?}");
            let plan = plan(&gated(deployment(3, strategy.clone(), sets)), at(100_000));
            let steps = steps(&plan);
            let changes = steps.iter().any(|(_, replicas)| replicas.is_some());
            assert!(!changes, "{case}: {steps:?}");
            let made = |action: &Action| matches!(action, Action::CreateSet(_));
            assert!(!plan.actions.iter().any(made), "{case}: {steps:?}");
        }
    }
}

#[test]
fn it_says_what_the_roll_waits_for_and_no_deadline_passes_meanwhile() {
    let waits: Observed = deployment(3, rolling(Int(0), Int(1)), vec![old("old", (3, 3, 3))]);
    let plan = plan(&gated(waits), at(100_000));
    for type_ in [ConditionType::Progressing, ConditionType::Ready] {
        let finding = plan.findings.iter().find(|one| one.condition == type_);
        let finding = finding.expect("a finding");
        assert_eq!(finding.reason(), Reason::VersionSkew, "{type_:?}");
        assert!(finding.message().contains(WHY), "{}", finding.message());
    }
    assert_eq!((plan.wake_at, plan.work_since), (None, None));
}

#[test]
fn a_lost_machine_comes_back_from_the_old_template_meanwhile() {
    for strategy in [
        rolling(Int(0), Int(1)),
        of_type(StrategyType::OnDelete),
        of_type(StrategyType::InPlace),
    ] {
        let mut lost = old("old", (3, 2, 2));
        lost.annotations
            .insert(ANNOTATION_DISABLE_CREATE.into(), "true".into());
        let plan = plan(&gated(deployment(3, strategy, vec![lost])), at(100));
        let removed = |action: &Action| match action {
            Action::UpdateSet(update) => {
                update.annotations.get(ANNOTATION_DISABLE_CREATE) == Some(&None)
            }
            _ => false,
        };
        assert!(plan.actions.iter().any(removed), "{:?}", plan.actions);
    }
}

#[test]
fn it_scales_with_the_old_template_meanwhile() {
    let grows = deployment(5, rolling(Int(0), Int(1)), vec![old("old", (3, 3, 3))]);
    let plan = plan(&gated(grows), at(100));
    assert_eq!(steps(&plan), [("old".into(), Some((3, 5)))]);
}
