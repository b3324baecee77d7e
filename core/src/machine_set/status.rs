//! What a plan found, as the status of the MachineSet. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::conditions::{self, ConditionType, Finding, Severity, Status};
use crate::api::{MachineSet, MachineSetStatus};
use crate::status_write::{CALM, WORDS, due};

/// For how long a status is held back. Words that quote a warning of a Machine wait as long as
/// progress.
pub fn holds_back(old: &MachineSetStatus, new: &MachineSetStatus, plan: &Plan) -> Duration {
    let is_read = read_by_others(old) != read_by_others(new);
    due(old, new, is_read, if plan.warns { CALM } else { WORDS })
}

/// What its deployment goes by: the numbers, which edit they are about, and whether it is held back
/// from making Machines. Autoscalers read the selector.
fn read_by_others(status: &MachineSetStatus) -> impl PartialEq + use<> {
    let of = |type_| conditions::find(&status.conditions, type_);
    let held = of(ConditionType::ScalingUp).map(|up| (up.status.clone(), up.reason.clone()));
    // another text while all are ready says that an update fails, or does no longer
    let ready = of(ConditionType::MachinesReady).filter(|said| said.status == Status::True);
    let ready = ready.map(|said| said.message.clone());
    let counts = MachineSetStatus {
        last_progress_time: None,
        conditions: Vec::new(),
        ..status.clone()
    };
    (counts, held, ready)
}

/// Whether a finding is published as an Event. A set of a deployment does not repeat what that
/// tells of the same Machines: it tells what a person should check.
pub fn is_news(old: &MachineSetStatus, finding: &Finding, is_owned: bool) -> bool {
    let is_warning = finding.reason().severity() == Severity::Warning;
    match conditions::find(&old.conditions, finding.condition) {
        Some(old) if old.reason == finding.reason() && old.status == finding.status.as_str() => {
            false
        }
        Some(_) => is_warning || !is_owned,
        None => is_warning || (finding.status == Status::True && !is_owned),
    }
}

/// The status that follows from a plan.
pub fn status(set: &MachineSet, plan: &Plan) -> MachineSetStatus {
    let counts = &plan.counts;
    MachineSetStatus {
        replicas: counts.replicas,
        fully_labeled_replicas: counts.fully_labeled,
        ready_replicas: counts.ready,
        available_replicas: counts.available,
        unhealthy_replicas: counts.unhealthy,
        starting_replicas: counts.starting,
        terminating_replicas: counts.deleting,
        last_progress_time: counts.last_progress.map(Time),
        label_selector: plan.label_selector.clone(),
        ..set.status.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::conditions::{ConditionType, Reason};

    fn says(reason: Reason, message: &str) -> Plan {
        Plan {
            findings: vec![Finding::no(ConditionType::MachinesReady, reason, message)],
            ..Plan::default()
        }
    }

    fn with(plan: &Plan, ready: i32, starting: i32, generation: i64) -> MachineSetStatus {
        let now = Timestamp::UNIX_EPOCH;
        MachineSetStatus {
            ready_replicas: ready,
            starting_replicas: starting,
            observed_generation: Some(generation),
            conditions: conditions::merge(&[], &plan.findings, Some(generation), now),
            ..MachineSetStatus::default()
        }
    }

    #[test]
    fn only_how_far_machines_are_on_their_way_can_wait() {
        let before = says(Reason::WaitingForMachines, "1/2 ready");
        let later = says(
            Reason::WaitingForMachines,
            "1/2 ready. Machine m: Preparing",
        );
        let warning = says(Reason::InvalidConfiguration, "the selector is empty");
        let old = with(&before, 1, 1, 7);
        for (case, plan, new, expected) in [
            ("words", &later, with(&later, 1, 1, 7), true),
            ("a Node that appears", &later, with(&later, 1, 0, 7), false),
            (
                "a Machine that is ready",
                &later,
                with(&later, 2, 0, 7),
                false,
            ),
            ("the spec is seen", &later, with(&later, 1, 1, 8), false),
            (
                "one more condition",
                &Plan::default(),
                MachineSetStatus {
                    conditions: Vec::new(),
                    ..old.clone()
                },
                false,
            ),
            ("a warning", &warning, with(&warning, 1, 1, 7), false),
        ] {
            let held = holds_back(&old, &new, plan);
            assert_eq!(held == WORDS, expected, "{case}: {held:?}");
        }
    }

    #[test]
    fn an_update_that_fails_while_all_are_ready_is_told_at_once_and_so_is_its_end() {
        let ready = |message: &str| Plan {
            findings: vec![Finding::yes(
                ConditionType::MachinesReady,
                Reason::AllReady,
                message,
            )],
            ..Plan::default()
        };
        let plans = [
            ready("1/1 ready"),
            ready("1/1 ready. Machine m: install it"),
        ];
        let [well, fails] = plans.each_ref().map(|plan| with(plan, 1, 0, 7));
        assert_eq!(holds_back(&well, &fails, &plans[1]), Duration::ZERO);
        assert_eq!(holds_back(&fails, &well, &plans[0]), Duration::ZERO);
    }

    #[test]
    fn what_a_person_should_look_at_waits_no_longer_than_what_passes() {
        let before = says(Reason::WaitingForMachines, "0/1 ready");
        let mut after = says(
            Reason::WaitingForMachines,
            "0/1 ready. Machine m: install it",
        );
        let [old, new] = [&before, &after].map(|plan| with(plan, 0, 1, 7));
        for (warns, expected) in [(false, WORDS), (true, CALM)] {
            after.warns = warns;
            assert_eq!(holds_back(&old, &new, &after), expected);
        }
    }

    #[test]
    fn a_set_of_a_deployment_tells_only_warnings() {
        let waits = says(Reason::WaitingForMachines, "0/1 ready")
            .findings
            .remove(0);
        let invalid = says(Reason::InvalidConfiguration, "no").findings.remove(0);
        let ready = Finding::yes(ConditionType::MachinesReady, Reason::AllReady, "1/1 ready");
        let was = with(&says(Reason::WaitingForMachines, ""), 0, 0, 1);
        let none = MachineSetStatus::default();
        // before, finding, of a set of its own, of a deployment's
        for (old, finding, alone, owned) in [
            (&none, &waits, false, false),
            (&none, &ready, true, false),
            (&none, &invalid, true, true),
            (&was, &waits, false, false),
            (&was, &ready, true, false),
            (&was, &invalid, true, true),
        ] {
            let told = [false, true].map(|is_owned| is_news(old, finding, is_owned));
            assert_eq!(told, [alone, owned], "{finding:?}");
        }
    }
}
