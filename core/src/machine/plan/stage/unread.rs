//! Its host has to show what is next, and shows nothing in this pass: a job runs there whose end
//! wakes us, or it does not answer.

use super::super::{Plan, job, virtual_machine};
use super::{claimed, registering};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::machine_stage::StageName;
use crate::machine::observed::{Contact, Infrastructure, Observed};
use crate::node::JobKind;

/// What is known without the host.
pub(super) fn plan(observed: &Observed, held: &Infrastructure) -> Plan {
    if let Some(plan) = virtual_machine::starting(observed, held) {
        return plan;
    }
    if let Some(finding) = host_is_silent(held) {
        return Plan::waiting(finding);
    }
    let plan = match &held.contact {
        Contact::SelfRegistering(Some(error)) => Plan::waiting(Finding::no(
            ConditionType::BootstrapReady,
            Reason::SimulatedFailure,
            error.clone(),
        )),
        Contact::SelfRegistering(None) => registering::plan(observed),
        _ => followed(observed),
    };
    claimed(held, plan)
}

/// What a host that could not be asked means for the Machine.
fn host_is_silent(held: &Infrastructure) -> Option<Finding> {
    match &held.contact {
        Contact::Unreachable { reason, message } => Some(Finding::no(
            ConditionType::InfrastructureReady,
            *reason,
            message.clone(),
        )),
        _ => None,
    }
}

fn is_starting(observed: &Observed) -> bool {
    let held = observed.held();
    held.is_some_and(|held| virtual_machine::starting(observed, held).is_some())
}

/// The stage whose job runs there.
pub(super) fn name(observed: &Observed) -> Option<StageName> {
    match observed.follow.as_ref().map(|follow| follow.job.kind) {
        Some(JobKind::Prepare) => Some(StageName::Preparing),
        Some(JobKind::Init) => Some(StageName::Initialising),
        Some(JobKind::Join) => Some(StageName::Joining),
        _ if is_starting(observed) => Some(StageName::Creating),
        _ => observed.had_node().then_some(StageName::Running),
    }
}

/// Reports the progress of a unit that runs.
pub(super) fn followed(observed: &Observed) -> Plan {
    let follow = observed.follow.as_ref();
    let follow = follow.filter(|follow| follow.job.kind.bootstraps());
    follow.map_or_else(
        || registering::plan(observed),
        |follow| job::followed(observed, follow),
    )
}
