//! Writes what a plan found on the Hypervisor. Only what differs is written.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::observed::Observed;
use super::plan::{Plan, State};
use crate::api::HypervisorStatus;
use crate::api::conditions::{self, ConditionType, Status};
use crate::controllers::{ReconcileError, patch};
use crate::gateway::Connectivity;
use crate::manager::Context;

/// Writes the status, if it differs, and an Event when the hypervisor came or went.
pub async fn write(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let hypervisor = observed.hypervisor.as_ref();
    let old = hypervisor.status.clone().unwrap_or_default();
    // a restart of ours is no news: the gateway's first answer wakes us, and so does its failure
    let is_connecting =
        matches!(&observed.gateway, Ok(view) if view.connectivity == Connectivity::Connecting);
    if is_connecting && old.observed_generation == hypervisor.metadata.generation {
        return Ok(());
    }
    let available = plan
        .findings
        .iter()
        .find(|finding| finding.condition == ConditionType::Available);
    let trouble = available.filter(|finding| finding.status != Status::True);
    let (allocatable, allocated) = plan.room.clone().unzip();
    let acceleration = observed
        .gateway
        .as_ref()
        .ok()
        .and_then(|view| view.capacity.clone());
    let new = HypervisorStatus {
        state: Some(state(plan.state).into()),
        reason: trouble.map(|finding| finding.reason.as_str().into()),
        message: trouble.map(|finding| finding.message.clone()),
        allocatable: allocatable.or(old.allocatable.clone()),
        allocated: allocated.or(old.allocated.clone()),
        acceleration: acceleration
            .map(|capacity| capacity.acceleration)
            .or(old.acceleration.clone()),
        machines: i64::try_from(plan.machines).ok(),
        conditions: conditions::merge(
            &old.conditions,
            &plan.findings,
            hypervisor.metadata.generation,
            now,
        ),
        observed_generation: hypervisor.metadata.generation,
    };
    if new == old {
        return Ok(());
    }
    let mut body = serde_json::to_value(&new)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    if trouble.is_none() {
        body["reason"] = Value::Null;
        body["message"] = Value::Null;
    }
    patch::status(&context.client, hypervisor, body).await?;
    if let Some(finding) = available.filter(|_| old.state != new.state) {
        context.event(hypervisor, finding).await;
    }
    Ok(())
}

fn state(state: State) -> &'static str {
    match state {
        State::Registering => "Registering",
        State::Available => "Available",
        State::Maintenance => "Maintenance",
        State::Unreachable => "Unreachable",
    }
}
