//! A control plane leaves: its etcd member is removed through the others, before its machine is released.

use super::super::observed::{Lookup, Observed, ObservedCluster, Placement};
use super::delete::deleting;
use super::joining::{busy, has_turn, turn_of_another};
use super::{Action, Plan};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::core::control_plane::{Change, Member, Members, Obstacle, permits};
use crate::core::proof::{MemberProof, TurnIsOver};

/// What a Machine that is being deleted still is to the etcd of its cluster.
pub(super) enum Leaving<'a> {
    /// Nothing that concerns its release.
    Nothing,
    /// No member is at its address; a turn that it has ends by this.
    Removed(Option<TurnIsOver>),
    /// A member, which is removed first.
    Member(&'a Member),
    /// It must wait, for this.
    Waits(Finding),
}

/// What it is. Nothing where the whole cluster goes, where there is no control plane yet, or where that is not ours.
pub(super) fn of(observed: &Observed) -> Leaving<'_> {
    let Some(cluster) = &observed.cluster else {
        return Leaving::Nothing;
    };
    let is_running = cluster.initialized_by.is_some() && !cluster.external && !cluster.deleting;
    if !is_running || !observed.acts_as_control_plane() || !observed.is_begun() {
        return Leaving::Nothing;
    }
    let members = match &cluster.etcd {
        Lookup::Known(members) => members,
        Lookup::Unknown(why) | Lookup::NotYet(why) => {
            return Leaving::Waits(unread(observed, cluster, why));
        }
    };
    let Some(member) = own(observed, members) else {
        return Leaving::Removed(end_of_turn(observed, cluster, members));
    };
    if let Some(turn) = turn_of_another(observed, cluster) {
        let message = format!("waiting to leave: {}", busy(turn));
        return Leaving::Waits(deleting(Reason::WaitingForTurn, message));
    }
    match permits(members, Change::Remove(member.id)) {
        Ok(()) => Leaving::Member(member),
        Err(Obstacle::LastMember(_)) => Leaving::Waits(last(cluster)),
        Err(obstacle) => {
            let message = format!(
                "etcd member {} stays, and with it this Machine: {}",
                member.label(),
                obstacle.message()
            );
            Leaving::Waits(deleting(obstacle.reason(), message))
        }
    }
}

/// Its member: the one at the address of the place that it holds. Without a place, the one that is named like its Node.
fn own<'a>(observed: &Observed, members: &'a Members) -> Option<&'a Member> {
    if let Placement::Held(held) = &observed.placement {
        return members.at(held.address.as_deref()?);
    }
    let status = observed.machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_ref())?;
    members.list.iter().find(|member| member.name == *node)
}

fn end_of_turn(
    observed: &Observed,
    cluster: &ObservedCluster,
    members: &Members,
) -> Option<TurnIsOver> {
    let has = |action| has_turn(observed, cluster, action);
    let Placement::Held(held) = &observed.placement else {
        return None;
    };
    if !has(TurnAction::Remove) && !has(TurnAction::Join) {
        return None;
    }
    let proof = MemberProof::of(observed.uid(), held.address.as_deref()?, members);
    proof.map(TurnIsOver::Member)
}

fn unread(observed: &Observed, cluster: &ObservedCluster, why: &str) -> Finding {
    if cluster.other_control_planes.is_empty() && observed.is_initializer() {
        return last(cluster);
    }
    let message =
        format!("whether etcd can do without this machine is not known, so it is kept: {why}");
    deleting(Reason::EtcdUnreachable, message)
}

/// The last one is deleted with its Cluster only.
fn last(cluster: &ObservedCluster) -> Finding {
    deleting(
        Reason::LastControlPlane,
        format!(
            "this is the last control-plane Machine of Cluster {}, with the only copy of its state: nothing is done to it; it and the cluster keep running. A deletion cannot be undone; it ends once another control-plane Machine has joined. Delete the Cluster only if you want to delete all of it: that resets every host",
            cluster.name
        ),
    )
}

/// Puts what is due before the release: the turn, and the removal; the release follows in the pass that no longer sees the
/// member. Afterwards the turn is returned.
pub(super) fn first(observed: &Observed, mut plan: Plan) -> Plan {
    let is_release = |action: &Action| matches!(action, Action::Release(_));
    match of(observed) {
        Leaving::Member(member) => {
            plan.actions.retain(|action| !is_release(action));
            plan.actions.push(Action::TakeTurn(TurnAction::Remove));
            plan.actions.push(Action::RemoveMember(member.clone()));
        }
        Leaving::Removed(Some(over)) => {
            let at = plan.actions.iter().position(is_release);
            let at = at.unwrap_or(plan.actions.len());
            plan.actions.insert(at, Action::ReturnTurn(over));
        }
        Leaving::Nothing | Leaving::Removed(None) | Leaving::Waits(_) => (),
    }
    plan
}
