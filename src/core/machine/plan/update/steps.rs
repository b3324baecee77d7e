//! The steps of an update, by what the host shows of those that were done.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use super::super::super::observed::{Contact, Lookup, Observed, ObservedCluster, Placement};
use super::super::super::units;
use super::super::bootstrap::run;
use super::super::joining::{busy, turn_of_another};
use super::super::{Action, DRAIN_AGAIN, Plan, drain, known_node};
use super::{
    Step, control_plane, finish, has_turn_to_upgrade, is_other, not, of_job, updating, waiting,
};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::core::control_plane::{Change, Members, permits};
use crate::core::node::{JobKind, Observation, Unit, UnitState};
use crate::core::{Next, NodeView};

/// The next step, by what its host shows.
pub(super) fn next(
    observed: &Observed,
    seen: &Observation,
    differs: Option<bool>,
    now: Timestamp,
) -> Step {
    if seen.owner.of(&observed.marker).is_none() {
        return Step::Over;
    }
    let goes = |plan: Plan| Step::Goes(Box::new(plan));
    let (upgrade, kubelet) = match (units::upgrade(observed), units::kubelet(observed)) {
        (Ok(upgrade), Ok(kubelet)) => (upgrade, kubelet),
        (Err(problem), _) | (_, Err(problem)) => {
            return Step::Waits(not(Reason::InvalidConfiguration, problem));
        }
    };
    let job = |kind| seen.job(&observed.marker.job(kind));
    let runs =
        |kind: &JobKind| job(*kind).is_some_and(|job| matches!(job.state, UnitState::Running(_)));
    if let Some(kind) = [JobKind::Upgrade, JobKind::Kubelet].into_iter().find(runs) {
        return goes(of_job(run(observed, seen, kind, now)));
    }
    if differs == Some(false) {
        return finish(observed);
    }
    let is_done = |unit: &Unit| {
        job(unit.kind)
            .is_some_and(|job| job.state == UnitState::Succeeded && job.identity == unit.identity())
    };
    let is_upgraded = is_done(&upgrade);
    if let Some(cluster) = &observed.cluster
        && observed.acts_as_control_plane()
        && !has_turn_to_upgrade(observed)
    {
        return take_turn(observed, cluster);
    }
    if !is_upgraded {
        return goes(start(observed, seen, &upgrade, now));
    }
    if control_plane(observed).as_ref().is_some_and(is_other) {
        let message = "kubeadm upgrade has succeeded; waiting until kube-apiserver of this machine reports the version";
        return goes(waiting(Reason::WaitingForControlPlane, message));
    }
    let Some(node) = known_node(observed) else {
        return goes(waiting(Reason::WaitingForNode, "its Node cannot be read"));
    };
    let is_installed = seen.versions.kubelet.as_ref().and_then(|v| v.parse().ok())
        == super::kubelet(observed).map(|(_, wanted)| wanted);
    if is_done(&kubelet) && is_installed {
        let message = format!("waiting until Node {} reports the new kubelet", node.name);
        return goes(waiting(Reason::WaitingForNode, message));
    }
    goes(replace_kubelet(observed, seen, node, &kubelet, now))
}

/// The turn, once etcd can do without the member of this machine for a while.
fn take_turn(observed: &Observed, cluster: &ObservedCluster) -> Step {
    if let Some((reason, message)) = &cluster.in_doubt {
        return Step::Waits(not(*reason, message.clone()));
    }
    if let Some(turn) = turn_of_another(observed, cluster) {
        let message = busy(turn, &observed.marker.namespace);
        return Step::Waits(not(Reason::WaitingForTurn, message));
    }
    let members = match &cluster.etcd {
        Lookup::Known(members) => Ok(members),
        Lookup::Unknown(why) | Lookup::NotYet(why) => Err(why.clone()),
    };
    if let Err(refused) = may_restart(observed, members) {
        return Step::Waits(refused);
    }
    Step::Goes(Box::new(Plan::act(
        Action::TakeTurn(TurnAction::Upgrade),
        not(
            Reason::TakingTurn,
            "taking the turn to run kubeadm upgrade".to_owned(),
        ),
    )))
}

/// Requires that etcd keeps its quorum while the member of this machine starts anew. `members`: its list, or why there is
/// none.
///
/// # Errors
/// What it waits for, in condition `UpToDate`.
pub fn may_restart(
    observed: &Observed,
    members: Result<&Arc<Members>, String>,
) -> Result<(), Finding> {
    let members = members.map_err(|why| {
        let message = format!(
            "waiting to update the control plane, because the manager reads no list of etcd members: {why}. Condition EtcdHealthy of Cluster {} has the remedy",
            observed.marker.cluster
        );
        not(Reason::EtcdUnreachable, message)
    })?;
    let Some(member) = observed.member(members) else {
        let message = "waiting to update the control plane: etcd lists no member at the address of this machine. Condition EtcdHealthy of its Cluster says what it lists";
        return Err(not(Reason::MemberUnknown, message.to_owned()));
    };
    permits(members, Change::Restart(member.id)).map_err(|obstacle| {
        let message = format!(
            "waiting to update the control plane: {}",
            obstacle.message()
        );
        not(obstacle.reason(), message)
    })
}

/// Whether kubeadm upgrade was started with the same steps, and did not succeed.
pub fn was_started(observed: &Observed) -> bool {
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let (Contact::Seen(seen), Ok(unit)) = (&held.contact, units::upgrade(observed)) else {
        return false;
    };
    let job = seen.job(&observed.marker.job(JobKind::Upgrade));
    job.is_some_and(|job| job.identity == unit.identity() && job.state != UnitState::Succeeded)
}

/// Starts a job, attaches to it, or waits before it is tried again. One that succeeded with other steps is run with these.
fn start(observed: &Observed, seen: &Observation, unit: &Unit, now: Timestamp) -> Plan {
    let job = seen.job(&observed.marker.job(unit.kind));
    if job.is_some_and(|job| job.state == UnitState::Succeeded) {
        let message = format!("{} starts", unit.kind.title());
        return Plan::act(
            Action::RunJob(unit.kind),
            updating(unit.kind.running(), message),
        );
    }
    of_job(run(observed, seen, unit.kind, now))
}

/// Drains the Node before the first attempt to replace its kubelet.
fn replace_kubelet(
    observed: &Observed,
    seen: &Observation,
    node: &NodeView,
    unit: &Unit,
    now: Timestamp,
) -> Plan {
    let mut plan = start(observed, seen, unit, now);
    let job = seen.job(&observed.marker.job(JobKind::Kubelet));
    let is_tried =
        job.is_some_and(|job| job.identity == unit.identity() && job.state != UnitState::Succeeded);
    if is_tried {
        return plan;
    }
    let (action, finding) = drain::before_update(observed, node, now);
    if let Some(action) = action {
        plan.actions.insert(0, action);
        let message = format!(
            "evicting the pods of Node {} before its kubelet is replaced",
            node.name
        );
        plan.findings = vec![updating(Reason::Draining, message)];
        plan.next = plan.next.sooner(Next::After(DRAIN_AGAIN));
    }
    plan.findings.extend(finding);
    plan
}
