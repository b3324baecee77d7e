//! A control plane waits for the turn to run kubeadm upgrade.

use super::super::super::cluster::ObservedCluster;
use super::super::super::observed::Observed;
use super::super::doubt::ClusterName;
use super::super::turn::in_the_way;
use super::super::{Action, Plan};
use super::quorum::{may_restart, members};
use super::{Step, follow, not};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::node::JobKind;

/// What it waits for, or the turn. `starts`: the plan of the job for which it needs the turn, if one is left.
pub(super) fn plan(
    observed: &Observed,
    upgrades: bool,
    starts: impl FnOnce() -> Option<Plan>,
) -> Step {
    // without the turn, which others may need meanwhile
    if let Some(waits) = starts().filter(|plan| plan.actions.is_empty()) {
        return Step::goes(waits);
    }
    let Some(cluster) = &observed.cluster else {
        return Step::Over;
    };
    match take(observed, cluster) {
        Ok(mut taking) => {
            // in the same pass, as it asks etcd and the holder of the turn just before; whether new settings may be
            // followed is decided with the turn
            if upgrades && follow::begin(observed).is_none() {
                taking.actions.push(Action::RunJob(JobKind::Upgrade));
            }
            Step::goes(taking)
        }
        Err(refused) => Step::Waits(refused, None),
    }
}

/// The turn, once etcd can do without the member of this machine for a while.
///
/// # Errors
/// What it waits for, in condition `UpToDate`.
fn take(observed: &Observed, cluster: &ObservedCluster) -> Result<Plan, Finding> {
    if let Some(doubt) = &cluster.in_doubt {
        let named = ClusterName::of(&observed.marker);
        return Err(not(doubt.reason(), doubt.message(named)));
    }
    if let Some(message) = in_the_way(observed, cluster) {
        return Err(not(Reason::WaitingForTurn, message));
    }
    may_restart(observed, members(cluster))?;
    let message = "taking the turn to run kubeadm upgrade".to_owned();
    Ok(Plan::act(
        Action::TakeTurn(TurnAction::Upgrade),
        not(Reason::TakingTurn, message),
    ))
}
