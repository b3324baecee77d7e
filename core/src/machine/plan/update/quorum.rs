//! etcd keeps its quorum while the member of a control plane that is updated starts anew.

use std::sync::Arc;

use super::super::super::cluster::ObservedCluster;
use super::super::super::observed::{Lookup, Observed};
use super::super::turn_end;
use super::on_host::{OnHost, on_host};
use super::{Step, not};
use crate::api::conditions::{Finding, Reason};
use crate::control_plane::{Change, Member, Members, permits};

/// A control plane waits until etcd can do without its member for a while. Its member serves, so it
/// returns the turn; where kubeadm may have changed its static pods, only if what is in the way may
/// not end without that turn.
pub(super) fn waits_for_quorum(host: &OnHost<'_>) -> Option<Step> {
    let observed = host.observed;
    let cluster = observed.cluster.as_ref();
    let cluster = cluster.filter(|_| observed.acts_as_control_plane())?;
    let refused = may_restart(observed, members(cluster)).err()?;
    let returns = || host.is_whole() || needs_turn(observed, cluster);
    let over = turn_end::updated(observed).filter(|_| returns());
    Some(Step::Waits(refused, over))
}

/// Whether others need the turn for what is in the way: another control plane leaves; a member that
/// does not serve, or has not joined to its end, has no Machine that would bring it back.
fn needs_turn(observed: &Observed, cluster: &ObservedCluster) -> bool {
    let others = &cluster.other_control_planes;
    let Lookup::Known(members) = &cluster.etcd else {
        return false;
    };
    let own = observed.member(members).map(|own| own.id);
    let has_machine = |member: &Member| {
        let mut addresses = others.iter().filter_map(|other| other.address.as_deref());
        own == Some(member.id) || addresses.any(|address| member.is_at(address))
    };
    let mut list = members.list.iter();
    others.iter().any(|other| other.leaves)
        || list.any(|member| {
            let is_pending = member.is_learner || !member.is_started();
            is_pending || (members.trouble(member).is_some() && !has_machine(member))
        })
}

/// The members, or why no list of them is read.
pub(super) fn members(cluster: &ObservedCluster) -> Result<&Arc<Members>, String> {
    match &cluster.etcd {
        Lookup::Known(members) => Ok(members),
        Lookup::Unknown(why) | Lookup::NotYet(why) => Err(why.clone()),
    }
}

/// Requires that etcd keeps its quorum while the member of this machine starts anew. `members`: its
/// list, or why there is none. Where the update may have stopped that member, it goes on: nothing
/// else brings it back. Neither a list that shows trouble nor a missing one is a sign of that
/// beside other control planes: the API server of this machine, which needs that member, must not
/// have served for a while.
///
/// # Errors
/// What it waits for, in condition `UpToDate`.
pub fn may_restart(
    observed: &Observed,
    members: Result<&Arc<Members>, String>,
) -> Result<(), Finding> {
    // a member that serves knows no leader during an election either: its API server has to be away
    // for a while as well
    let is_down = may_be_down(observed)
        && members.as_ref().map_or(true, |members| {
            let member = observed.member(members);
            member.is_none_or(|member| members.trouble(member).is_some())
        });
    if is_down && on_host(observed).is_some_and(|host| host.is_half_done()) {
        return Ok(());
    }
    let members = members.map_err(|why| {
        let message = format!(
            "waiting to update the control plane, because the manager reads no list of etcd members: {why}. Condition EtcdHealthy of Cluster {} has the remedy",
            observed.marker.cluster
        );
        not(Reason::EtcdUnreachable, message)
    })?;
    let Some(member) = observed.member(members) else {
        return Err(not(Reason::MemberUnknown, not_listed(observed, members)));
    };
    permits(members, Change::Restart(member.id)).map_err(|obstacle| {
        let message = format!(
            "waiting to update the control plane: {}",
            obstacle.message()
        );
        not(obstacle.reason(), message)
    })
}

/// etcd lists no member of this machine.
fn not_listed(observed: &Observed, members: &Members) -> String {
    let (mut addresses, mut names) = observed.member_signs();
    for all in [&mut addresses, &mut names] {
        all.sort_unstable();
        all.dedup();
    }
    let listed = members.list.iter().map(|member| {
        let at = member.hosts().collect::<Vec<_>>().join(" ");
        if member.is_started() {
            format!("{} ({at})", member.name)
        } else {
            at
        }
    });
    let listed: Vec<_> = listed.collect();
    let own: Vec<_> = addresses
        .iter()
        .map(|address| format!("at {address}"))
        .chain(names.iter().map(|name| format!("named {name}")))
        .collect();
    format!(
        "waiting to update the control plane: etcd lists no member {}, but {}. If the address of this machine changed, set it back; if its member was removed, delete this Machine, and create another",
        own.join(" or "),
        listed.join(", ")
    )
}

/// Whether its own member may be down: the API server beside it has not served for a while. A lone
/// one is not asked for that.
fn may_be_down(observed: &Observed) -> bool {
    observed.cluster.as_ref().is_some_and(|cluster| {
        let components = cluster.components.as_ref();
        cluster.other_control_planes.is_empty()
            || components.is_some_and(|components| components.has_lost_api())
    })
}
