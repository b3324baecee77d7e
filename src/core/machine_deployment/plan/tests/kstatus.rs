//! What programs that know no MachineDeployment make of its conditions, and what the worst Machine says.

use super::*;
use crate::api::MachineSet;
use crate::api::conditions::Reason;
use crate::core::kstatus::tests::check;

#[test]
fn creation_roll_and_failure_are_told_apart() {
    let of = |sets| deployment(3, rolling(Int(1), Int(0)), sets);
    let found = |observed: &Observed| plan(observed, at(110)).findings;
    let rolling_out = || of(vec![old("old", (3, 3, 3)), new((1, 1, 0))]);
    let mut classless = of(vec![new((3, 3, 3))]);
    classless.provider_spec = Err(Unresolved {
        reason: Reason::MachineClassMissing,
        message: "MachineClass a does not exist".into(),
    });
    let invalid = deployment(
        3,
        rolling(IntOrString::String("half".into()), Int(0)),
        Vec::new(),
    );
    let torn = Observed {
        paused: true,
        ..invalid.clone()
    };
    let paused = Observed {
        paused: true,
        ..rolling_out()
    };
    check(&[
        ("there is no set", &found(&of(Vec::new())), "InProgress"),
        (
            "its Machines start",
            &found(&of(vec![new((3, 3, 0))])),
            "InProgress",
        ),
        (
            "all are there",
            &found(&of(vec![new((3, 3, 3))])),
            "Current",
        ),
        ("it rolls", &found(&rolling_out()), "InProgress"),
        ("spec.paused is true", &found(&paused), "InProgress"),
        (
            "time is up",
            &plan(&rolling_out(), at(5_000)).findings,
            "Failed",
        ),
        (
            "an old one is going",
            &found(&of(vec![
                deleting(old("old", (0, 0, 0)), 1),
                new((3, 3, 3)),
            ])),
            "InProgress",
        ),
        ("it is over", &found(&of(vec![new((3, 3, 3))])), "Current"),
        ("its class may come", &found(&classless), "InProgress"),
        ("its strategy cannot be used", &found(&invalid), "Failed"),
        ("the same, and spec.paused is true", &found(&torn), "Failed"),
    ]);
}

#[test]
fn a_roll_says_what_the_worst_machine_of_its_sets_says() {
    let status = |type_: &str, value: &str, message: &str| {
        let set = json!({"metadata": {"name": "new", "generation": 1}, "spec": {"selector": {}, "template": {"spec": {}}},
            "status": {"observedGeneration": 1, "conditions": [{"type": type_, "status": value, "reason": "Any",
                "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        let set: MachineSet = serde_json::from_value(set).expect("a MachineSet");
        ObservedSet::from_api(&set, "md").says
    };
    let worst = "Machine m: no power supply. 2 more";
    let of_set = status("MachinesReady", "False", &format!("0/3 ready. {worst}"));
    assert_eq!(of_set.as_deref(), Some(worst));
    assert_eq!(
        status("MachinesReady", "False", "0/3 ready, 3 without a Node yet"),
        None
    );
    assert_eq!(status("MachinesReady", "True", "3/3 ready"), None);
    let leaving = status(
        "ScalingDown",
        "True",
        "1 in deletion. Machine m: PodDisruptionBudget web",
    );
    assert_eq!(
        leaving.as_deref(),
        Some("Machine m: PodDisruptionBudget web")
    );

    let current = ObservedSet {
        says: of_set,
        ..new((1, 1, 0))
    };
    let observed = deployment(
        3,
        rolling(Int(1), Int(0)),
        vec![old("old", (3, 3, 3)), current],
    );
    for (now, reason) in [(110, "RollingOut"), (5_000, "ProgressDeadlineExceeded")] {
        let plan = plan(&observed, at(now));
        let ready = finding(&plan, "Ready");
        assert_eq!(ready.reason, reason);
        assert!(ready.message.ends_with(worst), "{}", ready.message);
        assert_eq!(ready.message, finding(&plan, "Progressing").message);
    }
}
