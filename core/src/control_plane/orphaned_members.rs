//! A member of etcd that belongs to no Machine: whether it may be removed. Pure.
//!
//! It may be somebody's, whose server is not reached from here: that nothing answers the manager
//! proves nothing. What counts is what others say, all of it, for a while:
//!
//! | who | says |
//! |---|---|
//! | our Machines, Hosts and Hypervisors | it is on none of our servers (`fleet` of the Cluster) |
//! | every other member that is healthy, the leader among them | it is connected with each of these, not with this one, and receives nothing from it |
//! | the API of the cluster | its Node does not exist, or its kubelet is lost (Ready is Unknown); so does each control plane that may be it under another name |
//! | the guard ([`super::quorum`]) | etcd can do without it |
//! | the turn | nobody else changes the control plane |

use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::members::{Member, MemberId, Members};
use super::peers::{Sign, Watch};
use super::quorum::{Change, Obstacle, permits};
use crate::api::cluster::TurnAction;
use crate::{NodeView, remedy};

/// For how long it must be seen not to serve: a server may be restarted, or moved to another rack.
pub const SILENT_FOR: SignedDuration = SignedDuration::from_mins(15);

/// What is known of a member that belongs to no Machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The member.
    pub id: MemberId,
    /// When this was known.
    pub at: Timestamp,
    /// Which server of ours has it, or may have it.
    pub ours: Option<String>,
    /// What the other members say.
    pub watch: Watch,
    /// The Nodes that may be its; or why these are not known.
    pub nodes: Result<Vec<Arc<NodeView>>, String>,
    /// Who is changing the control plane.
    pub busy: Option<String>,
}

/// Why a member that belongs to no Machine is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is, or may be, on a server of ours.
    Ours(String),
    /// It serves.
    Serves(String),
    /// The server of this Node may be its, and runs.
    Runs(String),
    /// Nothing proves that it does not serve.
    Unproven(String),
    /// It has not been silent for long enough, but since this time.
    Waits(Timestamp),
    /// etcd does not allow it.
    Guard(Obstacle),
    /// Something else comes first.
    Busy(String),
}

/// Whether a Node is that of a member: it has its name or address.
pub fn is_node_of(member: &Member, node: &NodeView) -> bool {
    let mut addresses = node.addresses.iter();
    (member.is_started() && node.name == member.name)
        || addresses.any(|address| member.is_at(&address.address))
}

/// Whether nothing joins while a Machine has a turn of this kind. A `kubeadm join` that runs would
/// start with a list of members that is no longer true. `waits`: the Machine says that etcd does
/// not allow its join now; it may wait for this very member to leave. What is updated or leaves
/// loses nothing: without a member that does not serve, fewer are needed for a quorum.
pub fn is_idle(members: &Members, action: TurnAction, waits: bool) -> bool {
    match action {
        TurnAction::Join => waits && permits(members, Change::Add).is_err(),
        // that of init is over once the control plane exists
        TurnAction::Init | TurnAction::Remove | TurnAction::Upgrade => true,
    }
}

/// Whether a member that belongs to no Machine may be removed: since when it does not serve.
///
/// # Errors
/// [`Kept`]: the first thing that forbids it.
pub fn removable(members: &Members, facts: &Facts) -> Result<Timestamp, Kept> {
    if let Some(why) = &facts.ours {
        return Err(Kept::Ours(why.clone()));
    }
    let since = silent_since(members, facts)?;
    if facts.at.duration_since(since) < SILENT_FOR {
        return Err(Kept::Waits(since));
    }
    permits(members, Change::Remove(facts.id)).map_err(Kept::Guard)?;
    match &facts.busy {
        Some(who) => Err(Kept::Busy(who.clone())),
        None => Ok(since),
    }
}

/// Since when neither the member nor its Node serves.
fn silent_since(members: &Members, facts: &Facts) -> Result<Timestamp, Kept> {
    let nodes = match (&facts.watch.sign, &facts.nodes) {
        (Sign::Connected(by), _) => {
            return Err(Kept::Serves(format!("member {by} is connected with it")));
        }
        (Sign::Sends(by), _) => {
            let by = members
                .get(*by)
                .map_or_else(|| by.to_string(), Member::label);
            let why = format!(
                "member {by} receives data from it, though no other member can connect to it; let them reach its port 2380"
            );
            return Err(Kept::Serves(why));
        }
        (Sign::Unproven(why), _) | (Sign::Silent, Err(why)) => {
            return Err(Kept::Unproven(why.clone()));
        }
        (Sign::Silent, Ok(nodes)) => nodes,
    };
    let mut since = facts.watch.since.unwrap_or(facts.at);
    for node in nodes {
        match (node.ready, node.ready_since) {
            // also one that is not Ready: its kubelet runs, and says so
            (Some(_), _) => {
                return Err(Kept::Runs(node.name.clone()));
            }
            (None, Some(lost)) => since = since.max(lost),
            (None, None) => {
                let why = format!(
                    "Node {}, which may be its, has no condition Ready yet",
                    node.name
                );
                return Err(Kept::Unproven(why));
            }
        }
    }
    Ok(since)
}

/// What is said of a member that belongs to no Machine, and what helps.
pub fn message(
    namespace: &str,
    cluster: &str,
    member: &Member,
    verdict: &Result<Timestamp, Kept>,
) -> String {
    let (label, urls, id) = (member.label(), member.peer_urls.join(", "), member.id);
    let node = if member.is_started() {
        let delete = remedy::workload::delete_node(namespace, cluster, &label);
        format!("; then {delete}")
    } else {
        String::new()
    };
    let leave = format!("on its server, kubeadm reset, which removes the member{node}");
    let by_hand = format!(
        "on the host of another control plane, ctl member remove {id} (ctl: docs/day-2.md#ctl)"
    );
    let rest = match verdict {
        Ok(since) => format!(
            "It has not served since {since:.0}, and is removed in the next turn of the control plane"
        ),
        Err(Kept::Ours(why)) => {
            format!(
                "It is left alone: {why}. If nobody needs this member, whether it runs or not: drain its Node, then {by_hand}. A Host that was released is reset after that"
            )
        }
        Err(Kept::Serves(why)) => {
            format!(
                "It is left alone, because it may be somebody's: {why}. Do not switch its server off while it is listed: etcd may lose its quorum. If nobody needs it: {leave}"
            )
        }
        Err(Kept::Runs(node)) => format!(
            "It is left alone: Node {node} may be its, and the kubelet there reports. If no etcd runs on that server: {by_hand}"
        ),
        Err(Kept::Unproven(why)) => format!(
            "It is left alone, because nothing proves that it does not serve: {why}. Put that right first. Only if nobody needs this member: where its server runs, {leave}; where it is gone for good, {by_hand}"
        ),
        Err(Kept::Waits(since)) => format!(
            "No other member has been connected with it since {since:.0}, and it is removed at {:.0} or later, if that lasts and etcd can do without it. Start its server before, if it is needed. If it is not: {by_hand}",
            since.saturating_add(SILENT_FOR).unwrap_or(*since)
        ),
        Err(Kept::Guard(obstacle)) => format!(
            "It does not serve, and is removed once etcd can do without it: {}",
            obstacle.message()
        ),
        Err(Kept::Busy(who)) => format!("It does not serve, and is removed later: {who}"),
    };
    format!(
        "etcd member {label} ({urls}) belongs to no Machine of Cluster {cluster}, and counts for its quorum; while it is listed, no further control plane takes part in holding a virtual IP. {rest}"
    )
}

#[cfg(test)]
#[path = "orphaned_members_tests.rs"]
mod tests;
