//! The members of a Cluster's etcd: its condition about them, and the one that is removed.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::observed::Observed;
use super::{Action, Plan};
use crate::api::Cluster;
use crate::api::cluster::Turn;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::control_plane::health::Verdict;
use crate::control_plane::orphaned_members::{self, Kept};
use crate::control_plane::{Member, MemberId, Members, Obstacle, quorum};
use crate::remedy;

const ETCD: ConditionType = ConditionType::EtcdHealthy;

/// Adds the removal of a member that belongs to no Machine, where that is safe; one at a time. In
/// the turn of the Cluster, for which it asks; or beside a Machine that has it, where that loses
/// nothing.
pub(super) fn keep(observed: &Observed, plan: &mut Plan) {
    let Some(id) = removable(observed) else {
        return;
    };
    let action = Action::RemoveMember { id };
    if has_own_turn(observed) {
        // whatever fails beside it, others wait for this turn
        plan.actions.insert(0, action);
    } else if observed.turn.as_ref().is_some_and(Turn::is_later) {
        plan.actions.push(action);
    } else {
        plan.asks = true;
    }
}

/// The member that belongs to no Machine and may be removed.
fn removable(observed: &Observed) -> Option<MemberId> {
    let Some(Ok(members)) = observed.etcd.as_ref().filter(|_| !observed.external) else {
        return None;
    };
    let (member, verdict) = stranger(observed, members)?;
    verdict.ok().map(|_| member.id)
}

/// Whether a turn is returned that nobody uses: its Machine does not exist, or the Cluster has it
/// and there is nothing to remove.
pub(super) fn returns_turn(observed: &Observed) -> bool {
    observed.is_turn_vacant && !(has_own_turn(observed) && removable(observed).is_some())
}

/// Whether the turn is that of the Cluster itself.
fn has_own_turn(observed: &Observed) -> bool {
    let turn = observed.turn.as_ref();
    turn.is_some_and(|turn| Some(&turn.machine) == observed.cluster.metadata.uid.as_ref())
}

/// What is said of a member that belongs to no Machine.
pub fn without_machine(
    cluster: &Cluster,
    member: &Member,
    verdict: &Result<Timestamp, Kept>,
) -> Finding {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let message = orphaned_members::message(&namespace, &name, member, verdict);
    Finding::no(ETCD, Reason::MemberWithoutMachine, message)
}

/// What is said once it is removed.
pub fn removed(cluster: &Cluster, member: &Member, since: Timestamp) -> Finding {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let node = if member.is_started() {
        format!(
            ". If a Node of it is left: {}",
            remedy::workload::delete_node(&namespace, &name, &member.name)
        )
    } else {
        String::new()
    };
    let message = format!(
        "removed etcd member {} ({}, ID {}): it belonged to no Machine of Cluster {name} and was on no server of ours, and since {since:.0} no other member was connected with it and no kubelet of it reported. If its server comes back, on it: kubeadm reset{node}",
        member.label(),
        member.peer_urls.join(", "),
        member.id,
    );
    Finding::no(ETCD, Reason::MemberRemoved, message)
}

/// What of the Cluster itself comes before a removal.
fn waits(observed: &Observed) -> Option<&'static str> {
    if observed.spec.is_err() {
        Some("the settings of the Cluster cannot be used, see condition ConfigurationValid")
    } else if observed.doubt.is_some() {
        Some(
            "the Cluster and its CA Secret contradict each other, see condition ControlPlaneInitialized",
        )
    } else if observed.is_turn_vacant && !has_own_turn(observed) {
        Some("the control-plane turn of a Machine that does not exist is returned first")
    } else {
        None
    }
}

/// The member that belongs to no Machine and may be removed; or the first of them.
fn stranger<'a>(
    observed: &Observed,
    members: &'a Members,
) -> Option<(&'a Member, Result<Timestamp, Kept>)> {
    let is_stranger = |member: &&Member| machine_of(observed, member).is_none();
    let judged = |member: &'a Member| {
        let facts = observed.strangers.iter().find(|one| one.id == member.id);
        let unread = || {
            Err(Kept::Unproven(
                "the other members were not asked yet".into(),
            ))
        };
        let verdict =
            facts.map_or_else(unread, |facts| orphaned_members::removable(members, facts));
        let verdict = verdict.and_then(|since| match waits(observed) {
            Some(why) => Err(Kept::Busy(why.into())),
            None => Ok(since),
        });
        (member, verdict)
    };
    let mut all: Vec<_> = members
        .list
        .iter()
        .filter(is_stranger)
        .map(judged)
        .collect();
    let removable = all.iter().position(|(_, verdict)| verdict.is_ok());
    (!all.is_empty()).then(|| all.swap_remove(removable.unwrap_or(0)))
}

/// Whether all members serve and belong to a Machine; `None` if the etcd is not ours, or was not
/// read yet.
pub(super) fn health(observed: &Observed) -> Option<Finding> {
    let members = match observed.etcd.as_ref()? {
        Ok(members) => members,
        Err(why) if has_lost_quorum(observed) => {
            return Some(quorum_lost(&observed.leaderless, why));
        }
        Err(why) => return Some(unread(why)),
    };
    Some(trouble(observed, members).unwrap_or_else(|| {
        let names: Vec<String> = members.list.iter().map(Member::label).collect();
        Finding::yes(ETCD, Reason::MembersHealthy, names.join(", "))
    }))
}

/// Members answer and know no leader, and the API does not serve: others that have the quorum would
/// have to be out of reach of all.
fn has_lost_quorum(observed: &Observed) -> bool {
    let verdict = observed
        .health
        .as_ref()
        .map(|health| health.judgement.verdict);
    !observed.leaderless.is_empty() && verdict != Some(Verdict::Healthy)
}

fn quorum_lost(leaderless: &[String], why: &str) -> Finding {
    let message = format!(
        "no etcd member that answers the manager knows a leader ({}): {why}. Nothing of the control plane is changed. If the API of the cluster still takes writes, the other members have the quorum: restore the network between these machines and the others. Otherwise start the machines of the others, also of members that belong to no Machine, as after kubeadm join by hand. Delete no Machine. Only if half or more of the members are lost for good: docs/day-2.md#lost-quorum",
        leaderless.join(", ")
    );
    Finding::no(ETCD, Reason::QuorumLost, message)
}

fn unread(why: &str) -> Finding {
    let message = format!(
        "the manager reads no list of etcd members that has a quorum, so it changes nothing of the control plane: {why}. Delete no Machine. If the API of the cluster still takes writes, etcd serves: restore SSH from the manager to these hosts. Otherwise start the machines that are off, also of members that belong to no Machine, as after kubeadm join by hand. If all run, certificates may have expired there: docs/operating.md#certificates. Only if half or more of the members are lost for good: docs/day-2.md#lost-quorum, also with a single Machine whose disk is intact. A single member without its disk: docs/operating.md#dead-control-plane"
    );
    Finding::unknown(ETCD, Reason::EtcdUnreachable, message)
}

/// What harms all, then strangers, then single members.
fn trouble(observed: &Observed, members: &Members) -> Option<Finding> {
    let no = |reason, message| Some(Finding::no(ETCD, reason, message));
    let stranger = stranger(observed, members);
    let obstacle = match quorum::trouble(members) {
        Some(obstacle) if is_of_strangers(observed, members, &obstacle) => quorum::alarmed(members),
        obstacle => obstacle,
    };
    if let Some(obstacle) = obstacle {
        let also = stranger.map_or_else(String::new, |(member, _)| {
            let (label, id) = (member.label(), member.id);
            format!(". Also, etcd member {label} (ID {id}) belongs to no Machine")
        });
        let message = obstacle.message() + &unstarted(observed, members) + &also;
        return no(obstacle.reason(), message);
    }
    if let Some((member, verdict)) = stranger {
        // it has asked, and this is in the way
        let verdict = match (verdict, &observed.turn_waits) {
            (Ok(_), Some(why)) => Err(Kept::Busy(why.clone())),
            (verdict, _) => verdict,
        };
        return Some(without_machine(&observed.cluster, member, &verdict));
    }
    let said = |member: &Member| {
        let why = members.trouble(member)?;
        Some(format!("{}: {why}", named(observed, member)))
    };
    let unhealthy: Vec<String> = members.voters().filter_map(said).collect();
    if !unhealthy.is_empty() {
        let message = format!(
            "{} of {} etcd members {} not healthy ({}). Start etcd on that host, or restore SSH to it. Only if the server is lost for good, delete its Machine; its MachineSet creates another, and without one you do, once the member is removed",
            unhealthy.len(),
            members.voters().count(),
            if unhealthy.len() == 1 { "is" } else { "are" },
            unhealthy.join("; ")
        );
        return no(Reason::MemberUnhealthy, message);
    }
    let learner = members.list.iter().find(|member| member.is_learner)?;
    let obstacle = Obstacle::ChangeUnderWay(named(observed, learner));
    no(obstacle.reason(), obstacle.message())
}

/// One that has not started has no name but its Machine's.
fn named(observed: &Observed, member: &Member) -> String {
    match machine_of(observed, member) {
        Some(machine) => format!("{} (Machine {machine})", member.label()),
        None => member.label(),
    }
}

/// Of the members that have not started, and that others name by their addresses, which Machines
/// have them.
fn unstarted(observed: &Observed, members: &Members) -> String {
    let pending = members.list.iter().filter(|member| !member.is_started());
    let said = pending.filter_map(|member| {
        let machine = machine_of(observed, member)?;
        Some(format!(". {} is that of Machine {machine}", member.label()))
    });
    said.collect()
}

/// Whether too few answer because of members that belong to no Machine alone: they count, and are
/// not asked.
fn is_of_strangers(observed: &Observed, members: &Members, obstacle: &Obstacle) -> bool {
    let mut silent = members
        .voters()
        .filter(|one| members.trouble(one).is_some());
    matches!(obstacle, Obstacle::TooFewAnswer { .. })
        && silent.all(|one| machine_of(observed, one).is_none())
}

/// The Machine that has a member, by its address.
fn machine_of<'a>(observed: &'a Observed, member: &Member) -> Option<&'a str> {
    let mut machines = observed.machines.iter();
    let machine = machines.find(|machine| machine.has(member))?;
    Some(&machine.name)
}
