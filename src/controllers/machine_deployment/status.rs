//! Writes what a plan found on the MachineDeployment. Only what differs is written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::plan::Plan;
use crate::api::conditions;
use crate::api::{MachineDeployment, MachineDeploymentStatus};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Writes the status, if it differs.
pub async fn write(
    context: &Context,
    deployment: &MachineDeployment,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let old = deployment.status.clone().unwrap_or_default();
    let generation = deployment.metadata.generation;
    let new = MachineDeploymentStatus {
        observed_generation: generation,
        replicas: plan.counts.replicas,
        updated_replicas: plan.counts.updated,
        ready_replicas: plan.counts.ready,
        available_replicas: plan.counts.available,
        unavailable_replicas: plan.counts.unavailable,
        label_selector: plan.label_selector.clone(),
        work_since: plan.work_since.map(Time),
        phase: Some(plan.phase.as_str().into()),
        conditions: conditions::merge(&old.conditions, &plan.findings, generation, now),
    };
    if new == old {
        return Ok(());
    }
    let mut body = serde_json::to_value(&new)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    // a merge patch removes only what it names
    if new.work_since.is_none() {
        body["workSince"] = Value::Null;
    }
    patch::status(&context.client, deployment, body)
        .await
        .map(drop)
}
