//! What a plan found, as the status of the MachineDeployment. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::{Phase, Plan};
use crate::api::conditions::{Finding, Severity};
use crate::api::{MachineDeployment, MachineDeploymentStatus};

/// Whether a MachineDeployment only passes through a status: its sets are on their way, and nothing asks for a person. That
/// there is something to do is written at once, for its deadline counts from there.
pub fn is_passing(
    old: &MachineDeploymentStatus,
    new: &MachineDeploymentStatus,
    plan: &Plan,
) -> bool {
    let begins = |status: &MachineDeploymentStatus| {
        let since = status.work_since.as_ref().map(|since| since.0);
        (status.observed_generation, since)
    };
    let asks = |finding: &Finding| finding.reason.severity() == Severity::Warning;
    let under_way = plan.phase != Phase::Running || plan.work_since.is_some();
    under_way && !plan.findings.iter().any(asks) && begins(old) == begins(new)
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
