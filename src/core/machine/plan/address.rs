//! The part of a control plane in holding the cluster's virtual IP. Members learn of a newcomer before it takes part, and
//! forget one after it has left: with unicast VRRP, who is not told of the others takes the address as well.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, Infrastructure, Lookup, Observed};
use super::super::units;
use super::bootstrap::{ASK_AGAIN, run};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::Next;
use crate::core::node::{JobKind, Unit, UnitState};

/// Whether its part has to be changed, or is not known since the manager started.
pub fn is_due(observed: &Observed) -> bool {
    due(observed).is_some()
}

fn due(observed: &Observed) -> Option<Unit> {
    let is_there = matches!(observed.node, Lookup::Known(Some(_)));
    if !is_there || observed.is_deleting() || !observed.acts_as_control_plane() {
        return None;
    }
    let unit = units::address(observed)?;
    (observed.applied_address.as_deref() != Some(&*unit.identity())).then_some(unit)
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
