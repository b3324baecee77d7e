//! The guard: which change of a control plane its etcd allows now.
//!
//! etcd serves while more than half of its voting members are healthy. A change is allowed only if
//! that holds before it and after it, and only one at a time: a learner, or a member that was added
//! and has not started, is a change that has not ended
//! (<https://etcd.io/docs/v3.6/op-guide/runtime-configuration/>). The list must be linearizable: a
//! member that lost the others serves its own copy as well.

use super::members::{Member, MemberId, Members};
use crate::api::conditions::Reason;

/// A change of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more.
    Add,
    /// One less.
    Remove(MemberId),
    /// One is down for a while, as when its static pod is replaced, and returns.
    Restart(MemberId),
}

/// Why a change is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Not more than half of the voting members answer, though etcd confirms its list.
    TooFewAnswer {
        /// Voting members that are healthy.
        healthy: usize,
        /// Voting members.
        voters: usize,
        /// The others, each with what is wrong.
        troubles: Vec<String>,
    },
    /// After the change, or while it lasts, not more than half would be healthy.
    QuorumAtRisk {
        /// Voting members that would be healthy.
        healthy: usize,
        /// Voting members that there would be.
        voters: usize,
        /// The others of today, each with what is wrong.
        troubles: Vec<String>,
    },
    /// An earlier change has not ended: this member is a learner, or has not started.
    ChangeUnderWay(String),
    /// The only member that votes has the only copy of the data.
    LastMember(String),
    /// A member found its data damaged: a change could spread that.
    Corrupt(String, MemberId),
    /// A member has no room for more data: the cluster takes no writes, and so nothing joins or is
    /// upgraded.
    NoSpace(String),
    /// The list does not have this member.
    NotListed(MemberId),
}

/// The member that is made the leader before this one is removed: one that votes and serves. `None`
/// if this one does not lead.
///
/// # Errors
/// No other one could lead.
pub fn successor(members: &Members, leaving: MemberId) -> Result<Option<MemberId>, String> {
    if members.leader != Some(leaving) || members.get(leaving).is_none() {
        return Ok(None);
    }
    let is_fit = |member: &&Member| {
        member.id != leaving && !member.is_learner && members.trouble(member).is_none()
    };
    let fit = members.list.iter().find(is_fit).map(|member| member.id);
    fit.map(Some)
        .ok_or_else(|| "no other etcd member is healthy".into())
}

/// What forbids every change, and harms without one.
pub fn trouble(members: &Members) -> Option<Obstacle> {
    let (healthy, voters) = (healthy_without(members, None), members.voters().count());
    if !is_quorum(healthy, voters) {
        return Some(Obstacle::TooFewAnswer {
            healthy,
            voters,
            troubles: troubles(members, None),
        });
    }
    alarmed(members)
}

/// What a member raised an alarm for.
pub fn alarmed(members: &Members) -> Option<Obstacle> {
    let corrupt = alarm(members, "CORRUPT").map(|(label, id)| Obstacle::Corrupt(label, id));
    corrupt.or_else(|| alarm(members, "NOSPACE").map(|(label, _)| Obstacle::NoSpace(label)))
}

/// Whether a change is allowed.
///
/// # Errors
/// [`Obstacle`]: the first thing that forbids it.
pub fn permits(members: &Members, change: Change) -> Result<(), Obstacle> {
    let target = match change {
        Change::Add => None,
        Change::Remove(id) | Change::Restart(id) => {
            Some(members.get(id).ok_or(Obstacle::NotListed(id))?)
        }
    };
    match (trouble(members), change) {
        // a member may leave a full etcd, and none joins it
        (None, _) | (Some(Obstacle::NoSpace(_)), Change::Remove(_)) => (),
        (Some(trouble), _) => return Err(trouble),
    }
    let (healthy, voters) = (healthy_without(members, None), members.voters().count());
    // what never voted leaves no gap, and removing it ends the change that brought it
    let removes = |member: &Member| change == Change::Remove(member.id);
    let is_pending = |member: &&Member| member.is_learner || !member.is_started();
    if let Some(pending) = members.list.iter().find(|m| is_pending(m) && !removes(m)) {
        return Err(Obstacle::ChangeUnderWay(pending.label()));
    }
    let remaining = healthy_without(members, target);
    match (change, target) {
        // The second one is needed from the moment that it votes; kubeadm lets it learn first. Any
        // other may fail to start.
        (Change::Add, _) => {
            let starts = usize::from(voters == 1);
            must_hold(members, healthy + starts, voters + 1, None)
        }
        (_, Some(target)) if target.is_learner => Ok(()),
        (Change::Remove(_), Some(target)) if voters == 1 => {
            Err(Obstacle::LastMember(target.label()))
        }
        (Change::Remove(_), target) => must_hold(members, remaining, voters - 1, target),
        // One or two cannot miss any, and must be upgraded all the same: the API is away while that
        // lasts.
        (Change::Restart(_), target) if voters <= 2 => {
            must_hold(members, remaining + 1, voters, target)
        }
        (Change::Restart(_), target) => must_hold(members, remaining, voters, target),
    }
}

/// The first member that raised this alarm.
fn alarm(members: &Members, name: &str) -> Option<(String, MemberId)> {
    let (id, _) = members.alarms.iter().find(|(_, alarm)| alarm == name)?;
    let label = members
        .get(*id)
        .map_or_else(|| id.to_string(), Member::label);
    Some((label, *id))
}

/// etcd's quorum: more than half of the voting members.
fn is_quorum(healthy: usize, voters: usize) -> bool {
    voters > 0 && healthy > voters / 2
}

fn must_hold(
    members: &Members,
    healthy: usize,
    voters: usize,
    target: Option<&Member>,
) -> Result<(), Obstacle> {
    if is_quorum(healthy, voters) {
        return Ok(());
    }
    Err(Obstacle::QuorumAtRisk {
        healthy,
        voters,
        troubles: troubles(members, target),
    })
}

/// What is said while etcd itself refuses to remove a member (`--strict-reconfig-check`).
pub fn refused_for_now(member: &Member) -> String {
    format!(
        "etcd does not remove member {} yet: its members have to be connected for 5 s",
        member.label()
    )
}

fn healthy_without(members: &Members, target: Option<&Member>) -> usize {
    let healthy = |member: &&Member| members.trouble(member).is_none();
    let others = |member: &&Member| target.is_none_or(|target| target.id != member.id);
    members.voters().filter(others).filter(healthy).count()
}

fn troubles(members: &Members, target: Option<&Member>) -> Vec<String> {
    let others = |member: &&Member| target.is_none_or(|target| target.id != member.id);
    let trouble =
        |member: &Member| Some(format!("{}: {}", member.label(), members.trouble(member)?));
    members
        .voters()
        .filter(others)
        .filter_map(trouble)
        .collect()
}

impl Obstacle {
    /// The reason, as conditions have it.
    pub fn reason(&self) -> Reason {
        match self {
            Self::TooFewAnswer { .. } => Reason::TooFewMembersAnswer,
            Self::QuorumAtRisk { .. } => Reason::QuorumAtRisk,
            Self::ChangeUnderWay(_) => Reason::MemberChanging,
            Self::LastMember(_) => Reason::LastControlPlane,
            Self::Corrupt(..) => Reason::EtcdCorrupt,
            Self::NoSpace(_) => Reason::EtcdNoSpace,
            Self::NotListed(_) => Reason::MemberUnknown,
        }
    }

    /// Cause and remedy, without the change that they forbid.
    pub fn message(&self) -> String {
        match self {
            Self::TooFewAnswer {
                healthy,
                voters,
                troubles,
            } => format!(
                "only {healthy} of {voters} etcd members {answer} the manager, and {needed} are needed before it changes the control plane ({}). etcd itself has its quorum: it confirmed this list. Restore SSH to the hosts of these members, or start them. Do not follow docs/day-2.md#lost-quorum",
                troubles.join("; "),
                answer = if *healthy == 1 { "answers" } else { "answer" },
                needed = voters / 2 + 1,
            ),
            Self::QuorumAtRisk {
                healthy,
                voters,
                troubles,
            } if troubles.is_empty() => format!(
                "etcd would have {healthy} of {voters} members healthy, and needs {}",
                voters / 2 + 1
            ),
            Self::QuorumAtRisk {
                healthy,
                voters,
                troubles,
            } => format!(
                "etcd would have {healthy} of {voters} members healthy, and needs {}, because of {}. Start those members. If a server is lost for good, delete its Machine; of a member without a Machine, condition EtcdHealthy of the Cluster says when it is removed, or how",
                voters / 2 + 1,
                troubles.join("; ")
            ),
            Self::ChangeUnderWay(member) => format!(
                "etcd member {member} was added and does not vote yet, and members change one at a time. If that lasts, delete the Machine that has it: the member is then removed. If none has it, condition EtcdHealthy of the Cluster has the command"
            ),
            Self::LastMember(member) => {
                format!("etcd member {member} is the last one, with the only copy of the data")
            }
            Self::Corrupt(_, MemberId(0)) => "etcd members have data that differ (alarm CORRUPT), and etcd cannot tell whose is damaged, so nothing of the control plane is changed. Disarm nothing and remove no member: restore a snapshot, https://etcd.io/docs/v3.6/op-guide/recovery/".to_owned(),
            Self::Corrupt(member, id) => format!(
                "etcd member {member} reports damaged data (alarm CORRUPT), and nothing of the control plane is changed. If a majority of the other members is healthy, on the host of one: ctl member remove {id} && ctl alarm disarm (ctl: docs/day-2.md#ctl). Then, if it has a Machine, delete that, which resets its host, and create another. An only member: restore a snapshot, https://etcd.io/docs/v3.6/op-guide/recovery/"
            ),
            Self::NoSpace(member) => format!(
                "etcd member {member} has no room for more data (alarm NOSPACE), so the cluster takes no writes. Compact, defragment, then disarm the alarm: docs/day-2.md#no-space"
            ),
            Self::NotListed(id) => format!("etcd lists no member {id}"),
        }
    }
}

#[cfg(test)]
#[path = "quorum_tests.rs"]
mod tests;
