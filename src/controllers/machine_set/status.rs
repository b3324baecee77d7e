//! Writes what a plan found on the MachineSet. Only what differs is written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::plan::Plan;
use crate::api::conditions;
use crate::api::{MachineSet, MachineSetStatus};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Writes the status, if it differs.
pub async fn write(
    context: &Context,
    set: &MachineSet,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let old = set.status.clone().unwrap_or_default();
    let counts = &plan.counts;
    let generation = set.metadata.generation;
    let new = MachineSetStatus {
        replicas: counts.replicas,
        fully_labeled_replicas: counts.fully_labeled,
        ready_replicas: counts.ready,
        available_replicas: counts.available,
        unhealthy_replicas: counts.unhealthy,
        starting_replicas: counts.starting,
        terminating_replicas: counts.deleting,
        last_progress_time: counts.last_progress.map(Time),
        label_selector: plan.label_selector.clone(),
        observed_generation: generation,
        conditions: conditions::merge(&old.conditions, &plan.findings, generation, now),
        ..old.clone()
    };
    if new == old {
        return Ok(());
    }
    let body = serde_json::to_value(&new)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    patch::status(&context.client, set, body).await.map(drop)
}
