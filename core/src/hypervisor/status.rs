//! What a plan found, as the status of the Hypervisor. Pure.

use super::observed::Observed;
use super::plan::{Plan, State};
use crate::api::conditions::{ConditionType, Finding, Status};
use crate::api::{Hypervisor, HypervisorStatus};
use crate::hypervisor::Connectivity;

/// The status that follows from a plan. A restart of ours is no news: the gateway's first answer
/// wakes us, and so does its failure.
pub fn status(
    hypervisor: &Hypervisor,
    observed: &Observed,
    plan: &Plan,
) -> Option<HypervisorStatus> {
    let old = hypervisor.status.clone().unwrap_or_default();
    let view = observed.gateway.as_ref().ok();
    let is_connecting = view.is_some_and(|view| view.connectivity == Connectivity::Connecting);
    if is_connecting && old.observed_generation == hypervisor.metadata.generation {
        return None;
    }
    let mut findings = plan.findings.iter();
    let trouble = findings.find(|finding| {
        finding.condition == ConditionType::Available && finding.status != Status::True
    });
    let (allocatable, allocated) = plan.room.clone().unzip();
    let capacity = view.and_then(|view| view.capacity.clone());
    Some(HypervisorStatus {
        state: Some(state(plan.state).into()),
        reason: trouble.map(|finding| finding.reason().as_str().into()),
        message: trouble.map(Finding::message),
        allocatable: allocatable.or(old.allocatable),
        allocated: allocated.or(old.allocated),
        acceleration: capacity
            .map(|capacity| capacity.acceleration)
            .or(old.acceleration),
        machines: i64::try_from(plan.machines).ok(),
        conditions: old.conditions,
        observed_generation: old.observed_generation,
    })
}

fn state(state: State) -> &'static str {
    match state {
        State::Registering => "Registering",
        State::Available => "Available",
        State::Maintenance => "Maintenance",
        State::Unreachable => "Unreachable",
    }
}
