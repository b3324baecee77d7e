//! A control plane asks for the turn to run kubeadm upgrade, which the planner of its Cluster gives
//! it.

use super::super::super::cluster::ObservedCluster;
use super::super::super::observed::Observed;
use super::super::doubt::ClusterName;
use super::super::turn::{in_the_way, job_of_another};
use super::super::{Plan, ask, turn_end};
use super::on_host::OnHost;
use super::quorum::{may_restart, members};
use super::{Step, not};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::machine::LastLook;

/// What it waits for, and whether it asks. `starts`: the plan of the job for which it needs the
/// turn, if one is left.
pub(super) fn plan(observed: &Observed, starts: impl FnOnce() -> Option<Plan>) -> (Step, bool) {
    // without the turn, which others may need meanwhile
    if let Some(waits) = starts().filter(|plan| plan.actions.is_empty()) {
        return (Step::goes(waits), false);
    }
    let Some(cluster) = &observed.cluster else {
        return (Step::Over, false);
    };
    if let Some(doubt) = &cluster.in_doubt {
        let named = ClusterName::of(&observed.marker);
        let doubt = not(doubt.reason(), doubt.message(named));
        return (Step::Waits(doubt, None), false);
    }
    // whether etcd can do without its member is asked once nobody is in the way
    if let Some(message) = in_the_way(observed, cluster) {
        return (
            Step::Waits(not(Reason::WaitingForTurn, message), None),
            true,
        );
    }
    match asks(observed, cluster) {
        Ok(plan) => (Step::goes(plan), true),
        Err(refused) => (Step::Waits(refused, None), false),
    }
}

/// With the turn: what it waits for before a job starts. The turn may be that of a backup, and
/// another have gone on since; what is half done does not wait for a host that is silent, for its
/// own member may be down. What is whole returns the turn, which who is in its way may need to
/// leave; not while a new manager has only to ask a host first.
pub(super) fn beside(host: &OnHost<'_>) -> Option<Step> {
    let observed = host.observed;
    let cluster = observed.cluster.as_ref();
    let cluster = cluster.filter(|_| observed.acts_as_control_plane())?;
    let message = job_of_another(observed, cluster, !host.is_half_done())?;
    let mut others = cluster.other_control_planes.iter();
    let is_asked = others.all(|other| other.look != LastLook::Never);
    let over = turn_end::updated(observed).filter(|_| is_asked && host.is_whole());
    Some(Step::Waits(not(Reason::WaitingForTurn, message), over))
}

/// It asks, once etcd can do without the member of this machine for a while.
///
/// # Errors
/// What it waits for, in condition `UpToDate`.
fn asks(observed: &Observed, cluster: &ObservedCluster) -> Result<Plan, Finding> {
    may_restart(observed, members(cluster))?;
    Ok(Plan::waiting(ask::finding(observed, TurnAction::Upgrade)))
}
