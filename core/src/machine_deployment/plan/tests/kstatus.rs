//! What programs that know no MachineDeployment make of its conditions, and what the worst Machine
//! says.

use super::*;
use crate::api::Machine;
use crate::api::conditions::Reason;
use crate::kstatus::tests::check;
use crate::trouble::tests::explained;

#[test]
fn creation_roll_and_failure_are_told_apart() {
    let of = |sets| deployment(3, rolling(Int(1), Int(0)), sets);
    let found = |observed: &Observed| plan(observed, at(110)).findings;
    let rolling_out = || of(vec![old("old", (3, 3, 3)), new((1, 1, 0))]);
    let mut classless = of(vec![new((3, 3, 3))]);
    classless.provider_spec = Err(Why::new(
        Reason::MachineClassMissing,
        "MachineClass a does not exist",
    ));
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
    let machine = |name: &str, reason: &str, message: &str, is_leaving: bool| -> Machine {
        let (condition, status) = if is_leaving {
            ("Deleting", "True")
        } else {
            ("Ready", "False")
        };
        let machine = json!({"metadata": {"name": name,
                "deletionTimestamp": is_leaving.then_some("2026-01-01T00:00:00Z")},
            "spec": {}, "status": {"conditions": [{"type": condition, "status": status, "reason": reason,
                "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        explained(machine)
    };
    let failed = machine("m", "PrepareFailed", "no power supply. See its rack", false);
    let starts = machine("n", "Preparing", "1/9", false);
    let leaves = machine("o", "DrainBlocked", "PodDisruptionBudget web", true);
    let worst = "Machine m: no power supply. See its rack (and 2 more Machines)";
    let leaving = "Machine o: PodDisruptionBudget web";
    for (set, machines, says) in [
        (new((3, 2, 0)), vec![&failed, &starts, &leaves], Some(worst)),
        (new((2, 2, 2)), vec![&failed, &leaves], Some(leaving)),
        (new((3, 3, 2)), vec![&leaves], Some(leaving)),
        (new((3, 3, 3)), vec![&starts], None),
        (new((3, 0, 0)), vec![], None),
    ] {
        let mut heard = set.clone();
        heard.take_in(machines);
        assert_eq!(heard.says.as_deref(), says, "{:?}", set.counts);
    }

    let mut current = new((1, 1, 0));
    current.take_in([&failed, &starts]);
    let observed = deployment(
        3,
        rolling(Int(1), Int(0)),
        vec![old("old", (3, 3, 3)), current],
    );
    for (now, reason) in [(110, "RollingOut"), (5_000, "ProgressDeadlineExceeded")] {
        let plan = plan(&observed, at(now));
        let ready = finding(&plan, "Ready");
        assert_eq!(ready.reason(), reason);
        let said = &ready.message();
        assert!(
            said.contains("Machine m: no power supply. See its rack (1 more Machine); "),
            "{said}"
        );
        assert_eq!(ready.message(), finding(&plan, "Progressing").message());
    }
}

#[test]
fn a_roll_that_finds_no_host_says_what_it_needs() {
    let machine = json!({"metadata": {"name": "m"}, "spec": {}, "status": {"conditions": [
        {"type": "Ready", "status": "False", "reason": "NoHostAvailable", "message": "2 hosts match",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let machine = explained(machine);
    let lacks = |set: &ObservedSet| {
        let mut set = set.clone();
        set.take_in([&machine]);
        set
    };
    let full = old("old", (3, 3, 3));
    let needs = "the roll needs 1 more free Host for its new Machines, or rollingUpdate.maxUnavailable of 1 or more";
    let table = [
        (
            "a roll",
            rolling(Int(1), Int(0)),
            vec![full, lacks(&new((1, 1, 0)))],
            true,
        ),
        (
            "one may be missing",
            rolling(Int(1), Int(1)),
            vec![old("old", (2, 2, 2)), lacks(&new((2, 2, 0)))],
            false,
        ),
        (
            "it only grows",
            rolling(Int(1), Int(0)),
            vec![lacks(&new((3, 3, 2)))],
            false,
        ),
    ];
    for (case, strategy, sets, expected) in table {
        let plan = plan(&deployment(3, strategy, sets), at(110));
        let said = &finding(&plan, "Progressing").message();
        assert_eq!(said.starts_with(needs), expected, "{case}: {said}");
        assert!(said.contains("2 hosts match"), "{case}: {said}");
    }
}
