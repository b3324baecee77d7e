//! The condition that sums up the others, and the phase.

use super::super::observed::Observed;
use super::{Plan, is_live};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::core::trouble;

/// In the order in which a cluster comes to life: the first that does not hold is the reason.
const PARTS: [ConditionType; 5] = [
    ConditionType::ConfigurationValid,
    ConditionType::CertificatesReady,
    ConditionType::ControlPlaneInitialized,
    ConditionType::ControlPlaneHealthy,
    ConditionType::AddonsApplied,
];

/// Adds `Ready`, and the phase.
pub fn summarise(observed: &Observed, plan: &mut Plan) {
    let blocking = PARTS
        .iter()
        .filter_map(|name| {
            plan.findings
                .iter()
                .find(|finding| finding.condition == *name)
        })
        .find(|finding| finding.status != Status::True)
        .cloned();
    let ready = observed
        .machines
        .iter()
        .filter(|machine| machine.ready)
        .count();
    let finding = match blocking {
        Some(finding) => Finding {
            condition: ConditionType::Ready,
            ..finding
        },
        None if ready < observed.machines.len() || observed.pool.is_some() => {
            let machines = format!("{ready} of {} Machines are ready", observed.machines.len());
            let worst = trouble::worst(observed.machines.iter().filter_map(|m| m.trouble.as_ref()));
            let message = trouble::beside(trouble::beside(machines, worst), observed.pool.clone());
            Finding::no(ConditionType::Ready, Reason::WaitingForMachines, message)
        }
        None => Finding::yes(ConditionType::Ready, Reason::Ready, ""),
    };
    plan.phase = if is_live(observed) {
        "Running"
    } else if observed.machines.is_empty() {
        "Pending"
    } else {
        "Provisioning"
    };
    plan.findings.push(finding);
}
