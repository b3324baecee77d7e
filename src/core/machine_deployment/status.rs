//! What a plan found, as the status of the MachineDeployment. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::conditions::{Finding, Severity};
use crate::api::reported::ConditionedStatus;
use crate::api::{MachineDeployment, MachineDeploymentStatus};

/// Whether a MachineDeployment only passes through a status: its numbers are as they were, and nothing asks for a person.
pub fn is_passing(
    old: &MachineDeploymentStatus,
    new: &MachineDeploymentStatus,
    plan: &Plan,
) -> bool {
    let counts = |status: &MachineDeploymentStatus| MachineDeploymentStatus {
        phase: None,
        conditions: Vec::new(),
        ..status.clone()
    };
    let asks = |finding: &Finding| finding.reason.severity() == Severity::Warning;
    counts(old) == counts(new) && old.agrees_with(new) && !plan.findings.iter().any(asks)
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
    fn numbers_are_written_at_once_and_words_can_wait() {
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
        let old = with(&waits, 2, "ScalingUp");
        let begun = MachineDeploymentStatus {
            work_since: Some(Time(Timestamp::UNIX_EPOCH)),
            ..with(&later, 2, "ScalingUp")
        };
        for (case, plan, new, expected) in [
            ("words", &later, with(&later, 2, "Running"), true),
            ("numbers", &later, with(&later, 3, "ScalingUp"), false),
            ("its deadline counts from here", &later, begun, false),
            ("a warning", &warning, with(&warning, 2, "ScalingUp"), false),
        ] {
            assert_eq!(is_passing(&old, &new, plan), expected, "{case}");
        }
    }
}
