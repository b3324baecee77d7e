use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::{Int, String as Text};

use super::*;

fn strategy(surge: Option<IntOrString>, unavailable: Option<IntOrString>) -> Strategy {
    let rolling_update = RollingUpdate {
        max_surge: surge,
        max_unavailable: unavailable,
    };
    Strategy {
        type_: StrategyType::RollingUpdate,
        rolling_update: Some(rolling_update),
        ..Strategy::default()
    }
}

#[allow(clippy::unnecessary_wraps)] // what the field holds
fn text(text: &str) -> Option<IntOrString> {
    Some(Text(text.into()))
}

#[test]
fn percentages_round_surge_up_and_unavailability_down() {
    let table = [
        (None, None, 3, (1, 0)),
        (text("0%"), text("0%"), 0, (0, 1)),
        (text("39%"), text("39%"), 10, (4, 3)),
        (text("100%"), text("100%"), 7, (7, 7)),
        (text("1%"), text("1%"), 1, (1, 0)),
        (Some(Int(0)), Some(Int(0)), 5, (0, 1)),
        (Some(Int(2)), None, 5, (2, 0)),
        (None, Some(Int(2)), 5, (1, 2)),
        (text("0%"), text("10%"), 5, (0, 1)),
    ];
    for (surge, unavailable, replicas, expected) in table {
        let limits = Limits::of(&strategy(surge.clone(), unavailable.clone()), replicas);
        let is_raised = limits.as_ref().is_ok_and(|limits| limits.raised);
        assert_eq!(is_raised, expected == (0, 1));
        let limits = limits.map(|limits| (limits.surge, limits.unavailable));
        assert_eq!(
            limits,
            Ok(expected),
            "{surge:?} {unavailable:?} of {replicas}"
        );
    }
}

#[test]
fn what_is_neither_number_nor_percentage_is_named_with_the_remedy() {
    for wrong in [
        Text("5".into()),
        Text("x%".into()),
        Text("-1%".into()),
        Text(String::new()),
        Int(-1),
    ] {
        let problem = Limits::of(&strategy(Some(wrong.clone()), None), 3).expect_err("an error");
        assert!(
            problem.starts_with("spec.strategy.rollingUpdate.maxSurge is "),
            "{problem}"
        );
        assert!(
            problem.contains("write a number such as 1 or a percentage"),
            "{wrong:?}: {problem}"
        );
    }
}

#[test]
fn the_least_available_is_never_negative() {
    let table = [
        ((0, 5), 3, 0),
        ((0, 0), 3, 3),
        ((1, 1), 0, 0),
        ((0, 2), 5, 3),
    ];
    for ((surge, unavailable), replicas, expected) in table {
        let limits = Limits {
            surge,
            unavailable,
            raised: false,
        };
        assert_eq!(limits.min_available(replicas), expected);
    }
}

#[test]
fn on_delete_has_no_room_of_its_own() {
    let strategy = Strategy {
        type_: StrategyType::OnDelete,
        ..strategy(Some(Int(3)), Some(Int(3)))
    };
    assert_eq!(
        Limits::of(&strategy, 3),
        Ok(Limits {
            surge: 0,
            unavailable: 0,
            raised: false
        })
    );
}

#[test]
fn a_control_plane_changes_by_one_and_joins_before_another_leaves() {
    let table = [
        ((3, 0), (1, 0)),
        ((1, 3), (1, 0)),
        ((0, 3), (0, 1)),
        // OnDelete has no limits
        ((0, 0), (0, 0)),
    ];
    for ((surge, unavailable), expected) in table {
        let limits = Limits {
            surge,
            unavailable,
            raised: false,
        };
        let limits = limits.of_control_plane();
        assert_eq!((limits.surge, limits.unavailable), expected);
    }
}
