//! What a plan found, as the status of the MachineDeployment. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Severity, Status};
use crate::api::reported::ConditionedStatus;
use crate::api::{MachineDeployment, MachineDeploymentStatus};

/// For how long a status is held back in which only words differ: how far each Machine is stands on that Machine.
const WORDS: Duration = Duration::from_secs(15);
/// The same for numbers on the way: sets write theirs one after the other. Nobody acts on those of a deployment.
const NUMBERS: Duration = Duration::from_secs(1);

/// For how long a status is held back. The end is written at once, and so is what asks for a person.
pub fn holds_back(
    old: &MachineDeploymentStatus,
    new: &MachineDeploymentStatus,
    plan: &Plan,
) -> Duration {
    let counts = |status: &MachineDeploymentStatus| MachineDeploymentStatus {
        phase: None,
        conditions: Vec::new(),
        ..status.clone()
    };
    let asks = |finding: &Finding| finding.reason.severity() == Severity::Warning;
    let is_end = |finding: &Finding| {
        finding.condition == ConditionType::Ready && finding.status == Status::True
    };
    if plan.findings.iter().any(asks) {
        Duration::ZERO
    } else if counts(old) == counts(new) && old.agrees_with(new) {
        WORDS
    } else if plan.findings.iter().any(is_end) {
        Duration::ZERO
    } else {
        NUMBERS
    }
}

/// Whether a finding is published as an Event. Of Machines that it waits for without a rollout, and of the end of that, they
/// tell themselves.
pub fn is_news(old: &MachineDeploymentStatus, finding: &Finding) -> bool {
    let before = conditions::reason_of(&old.conditions, finding.condition);
    let is_end = finding.reason == Reason::Complete;
    finding.reason != Reason::WaitingForMachines
        && !(is_end && before == Some(Reason::WaitingForMachines))
        && conditions::is_news(&old.conditions, finding)
}

/// The status that follows from a plan.
pub fn status(deployment: &MachineDeployment, plan: &Plan) -> MachineDeploymentStatus {
    MachineDeploymentStatus {
        replicas: plan.counts.replicas,
        updated_replicas: plan.counts.updated,
        ready_replicas: plan.counts.ready,
        available_replicas: plan.counts.available,
        unavailable_replicas: plan.counts.unavailable,
        label_selector: plan.label_selector.clone(),
        work_since: plan.work_since.map(Time),
        phase: Some(plan.phase.as_str().into()),
        ..deployment.status.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::conditions::{ConditionType, Reason, merge};

    #[test]
    fn an_end_is_written_at_once_and_numbers_wait_less_than_words() {
        let says = |reason, message: &str| Plan {
            findings: vec![Finding::no(ConditionType::Ready, reason, message)],
            ..Plan::default()
        };
        let with = |plan: &Plan, replicas, phase: &str| MachineDeploymentStatus {
            replicas,
            phase: Some(phase.into()),
            conditions: merge(&[], &plan.findings, Some(1), Timestamp::UNIX_EPOCH),
            ..MachineDeploymentStatus::default()
        };
        let waits = says(Reason::WaitingForMachines, "1 Machines without a Node yet");
        let later = says(Reason::WaitingForMachines, "Machine m: NodeNotReady");
        let warning = says(Reason::InvalidConfiguration, "no such MachineClass");
        let ends = Plan {
            findings: vec![Finding::yes(ConditionType::Ready, Reason::Complete, "")],
            ..Plan::default()
        };
        let now = Duration::ZERO;
        let old = with(&waits, 2, "ScalingUp");
        let begun = MachineDeploymentStatus {
            work_since: Some(Time(Timestamp::UNIX_EPOCH)),
            ..with(&later, 2, "ScalingUp")
        };
        for (case, plan, new, expected) in [
            ("words", &later, with(&later, 2, "Running"), WORDS),
            ("numbers", &later, with(&later, 3, "ScalingUp"), NUMBERS),
            ("its deadline counts from here", &later, begun, NUMBERS),
            ("the end", &ends, with(&ends, 3, "Running"), now),
            ("a warning", &warning, with(&warning, 2, "ScalingUp"), now),
        ] {
            assert_eq!(holds_back(&old, &new, plan), expected, "{case}");
        }
    }

    #[test]
    fn a_rollout_is_told_and_a_few_machines_more_are_not() {
        let of = |finding: Finding| MachineDeploymentStatus {
            conditions: merge(&[], &[finding], Some(1), Timestamp::UNIX_EPOCH),
            ..MachineDeploymentStatus::default()
        };
        let ready = Finding::yes(ConditionType::Ready, Reason::Complete, "all 3 Machines");
        let waits = Finding::no(ConditionType::Ready, Reason::WaitingForMachines, "2 of 3");
        let rolls = Finding::no(ConditionType::Ready, Reason::RollingOut, "1 of 3");
        let invalid = Finding::no(ConditionType::Ready, Reason::InvalidConfiguration, "no");
        for (old, new, expected) in [
            (&ready, &waits, false),
            (&waits, &ready, false),
            (&invalid, &ready, true),
            (&ready, &rolls, true),
            (&rolls, &ready, true),
            (&ready, &ready, false),
        ] {
            let told = is_news(&of(old.clone()), new);
            assert_eq!(told, expected, "{} to {}", old.reason, new.reason);
        }
    }
}
