//! It is being deleted, and stays for now as it is: what needs it goes first.

use k8s_openapi::jiff::Timestamp;

use super::super::deletion::deleting;
use super::super::membership::{self, Leaving};
use super::super::{Action, Plan, Request, address, ask, drain, turn_end, update};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::observed::Observed;

/// Meanwhile it is as any other.
pub(super) fn plan(observed: &Observed, why: &Finding, now: Timestamp) -> Plan {
    let is_last = why.reason() == Reason::LastControlPlane;
    let is_unread = why.reason() == Reason::EtcdUnreachable;
    let mut plan = Plan::waiting(why.clone());
    if let Some(held) = observed.held().filter(|held| !held.releasing) {
        address::keep(observed, held, &mut plan, now);
        if is_last || is_unread {
            update::keep(observed, held, &mut plan, now);
        }
    }
    // it was drained before, and keeps its place
    let waits = why.reason() == Reason::WaitingForTurn;
    if waits && ask::stands(observed, TurnAction::Remove) {
        plan.asks = Some(Request::new(TurnAction::Remove));
    }
    let is_updated = |finding: &Finding| finding.condition == ConditionType::Updating;
    if !is_last {
        // who is in its way could not leave before it
        let over = turn_end::unused_to_leave(observed);
        plan.actions.extend(over.map(Action::ReturnTurn));
    } else if !plan.findings.iter().any(is_updated) {
        drain::undo(observed, &mut plan);
        // another control plane could not join, after which this one leaves
        let over = turn_end::updated(observed).or_else(|| turn_end::unused_to_leave(observed));
        plan.actions.extend(over.map(Action::ReturnTurn));
    }
    plan
}

/// The ClusterProfile of a Cluster is deleted before any of its Machines, so that no consumer uses
/// it any more. With their Cluster, control-plane Machines are deleted last; without it, only as
/// far as their etcd can do without them.
pub(super) fn why(observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    if cluster.deleting && cluster.published {
        return Some(deleting(
            Reason::WaitingForClusterProfile,
            format!(
                "the ClusterProfile of Cluster {} is removed first",
                cluster.name
            ),
        ));
    }
    if !observed.acts_as_control_plane() {
        return None;
    }
    if cluster.deleting {
        return (cluster.workers_left > 0).then(|| {
            deleting(
                Reason::WaitingForWorkers,
                format!(
                    "{} worker Machines of Cluster {} are removed first",
                    cluster.workers_left, cluster.name
                ),
            )
        });
    }
    match membership::of(observed) {
        Leaving::Waits(finding) => Some(finding),
        Leaving::Nothing | Leaving::Removed | Leaving::Member(_) => None,
    }
}
