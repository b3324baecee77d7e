//! What programs that know no MachineSet make of its conditions, and what the worst Machine says.

use super::*;
use crate::api::conditions::ConditionType;
use crate::kstatus::tests::check;
use crate::trouble::Trouble;

fn starting(name: &str) -> ObservedMachine {
    ObservedMachine {
        ready_since: None,
        has_node: false,
        ..machine(name)
    }
}

fn saying(machine: ObservedMachine, reason: Reason, message: &str) -> ObservedMachine {
    let trouble = Trouble {
        machine: machine.name.clone(),
        reason: Some(reason),
        message: message.into(),
        since: at(0),
    };
    ObservedMachine {
        trouble: Some(trouble),
        ..machine
    }
}

#[test]
fn creation_roll_and_failure_are_told_apart() {
    let found = |observed: &Observed| plan(observed, at(100)).findings;
    let gated = |reason| {
        let mut observed = set(2);
        observed.gate = Some(Gate {
            reason,
            message: "why".into(),
        });
        found(&observed)
    };
    let both = || [machine("a"), machine("b")];
    let mut torn = set(2);
    torn.selector = LabelSelector::default();
    let failed = ObservedMachine {
        failed: true,
        ..machine("a")
    };
    let leaving = ObservedMachine {
        deleting: Some(at(90)),
        ..machine("c")
    };
    let gone = Observed {
        deleting: true,
        ..with(set(2), both())
    };
    check(&[
        ("no Machine is made yet", &found(&set(2)), "InProgress"),
        (
            "they start",
            &found(&with(set(2), [starting("a"), starting("b")])),
            "InProgress",
        ),
        ("all are there", &found(&with(set(2), both())), "Current"),
        (
            "one failed",
            &found(&with(set(2), [failed, machine("b")])),
            "InProgress",
        ),
        (
            "one more than asked for",
            &found(&with(set(1), both())),
            "InProgress",
        ),
        (
            "which is on its way out",
            &found(&with(set(2), [machine("a"), machine("b"), leaving])),
            "Current",
        ),
        (
            "the control plane is older",
            &gated(Reason::VersionSkew),
            "InProgress",
        ),
        (
            "its class may come",
            &gated(Reason::MachineClassMissing),
            "InProgress",
        ),
        ("its selector matches everything", &found(&torn), "Failed"),
        ("mended", &found(&with(set(2), both())), "Current"),
        ("it is deleted", &found(&gone), "InProgress"),
    ]);
}

#[test]
fn the_worst_of_those_that_stay_and_of_those_that_go_is_said() {
    let stuck = saying(
        starting("a"),
        Reason::PrepareFailed,
        "containerd is masked.",
    );
    let joins = saying(starting("b"), Reason::KubeadmJoin, "1/2 join");
    let leaving = ObservedMachine {
        deleting: Some(at(90)),
        ..saying(
            machine("c"),
            Reason::DrainBlocked,
            "PodDisruptionBudget web",
        )
    };
    let plan = plan(&with(set(2), [stuck, joins, leaving]), at(100));
    let counts = "0/2 ready, 2 without a Node yet";
    let says = "Machine a: containerd is masked. (1 more Machine)";
    for name in [ConditionType::MachinesReady, ConditionType::Ready] {
        let message = &finding(&plan, name.as_str()).message();
        assert_eq!(*message, format!("{counts}. {says}"));
    }
    assert_eq!(
        finding(&plan, "ScalingDown").message(),
        "1 in deletion. Machine c: PodDisruptionBudget web"
    );
}

#[test]
fn a_ready_machine_whose_update_fails_is_named_and_one_that_is_updated_is_not() {
    for (reason, says) in [
        (Reason::UpdateFailed, "1/1 ready. Machine a: install it"),
        (Reason::Draining, "1/1 ready"),
    ] {
        let updating = saying(machine("a"), reason, "install it");
        let plan = plan(&with(set(1), [updating]), at(100));
        let ready = finding(&plan, "Ready");
        assert_eq!(
            (ready.status, ready.message().as_str()),
            (Status::True, says)
        );
    }
}
