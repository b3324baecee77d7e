//! What a plan found, as the status of the MachineDeployment. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::{MachineDeployment, MachineDeploymentStatus};

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
