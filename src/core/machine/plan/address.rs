//! The part of a control plane in holding the cluster's virtual IP. Members learn of a newcomer before it takes part, and
//! forget one after it has left: with unicast VRRP, who is not told of the others takes the address as well.

use k8s_openapi::jiff::Timestamp;

use super::super::member::ControlPlaneMachine;
use super::super::observed::{Contact, Infrastructure, Lookup, Observed};
use super::super::units;
use super::bootstrap::{ASK_AGAIN, run};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::Next;
use crate::core::control_plane::Members;
use crate::core::node::{JobKind, Unit, UnitState};

/// Whether its part has to be changed, or is not known since the manager started.
pub fn is_due(observed: &Observed) -> bool {
    due(observed).is_some()
}

fn due(observed: &Observed) -> Option<Unit> {
    if !observed.had_node() || !observed.acts_as_control_plane() {
        return None;
    }
    let unit = units::address(observed)?;
    (observed.applied_address.as_deref() != Some(&*unit.identity())).then_some(unit)
}

/// Whether another member takes part, so that the address stays when this one leaves; also where there is none to hold.
pub(super) fn is_held_without(observed: &Observed, members: &Members) -> bool {
    let Some(cluster) = &observed.cluster else {
        return true;
    };
    let serves = |address: &String| {
        let member = members.at(address);
        member.is_some_and(|member| members.trouble(member).is_none())
    };
    let takes_part = |other: &ControlPlaneMachine| {
        other.applied.is_some() && other.address.as_ref().is_some_and(serves)
    };
    units::address(observed).is_none() || cluster.other_control_planes.iter().any(takes_part)
}

/// Adds what is due to the plan of a Machine that has a Node.
pub(super) fn keep(observed: &Observed, held: &Infrastructure, plan: &mut Plan, now: Timestamp) {
    let (Some(unit), Some(cluster)) = (due(observed), &observed.cluster) else {
        return;
    };
    let Contact::Seen(seen) = &held.contact else {
        return;
    };
    let job = seen.job(&observed.marker.job(JobKind::Address));
    let takes_part = job.is_some() || observed.is_initializer();
    let Lookup::Known(members) = &cluster.etcd else {
        return;
    };
    if !takes_part && !units::is_known_to_others(observed, members) {
        plan.next = plan.next.sooner(Next::After(ASK_AGAIN));
        return;
    }
    let is_other =
        job.is_some_and(|job| job.state == UnitState::Succeeded && job.identity != unit.identity());
    if is_other {
        plan.actions.push(Action::RunJob(JobKind::Address));
        return;
    }
    let step = run(observed, seen, JobKind::Address, now);
    plan.actions.extend(step.actions);
    plan.next = plan.next.sooner(step.next);
    let failed = step
        .findings
        .into_iter()
        .find(|f| f.reason == Reason::AddressFailed);
    if let Some(failed) = failed {
        plan.findings
            .retain(|finding| finding.condition != ConditionType::UpToDate);
        plan.findings.push(Finding {
            condition: ConditionType::UpToDate,
            ..failed
        });
    }
}
