//! What the members of an etcd say of one of them: whether it serves. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::members::{Member, MemberId, Members};

/// Looks that are further apart than this do not show what was in between.
const GAP: SignedDuration = SignedDuration::from_mins(2);

/// What a member counts of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Those that it is connected with.
    pub connected: BTreeSet<MemberId>,
    /// The bytes that it received from each since it started, as it writes them.
    pub received: BTreeMap<MemberId, String>,
}

/// What each of those that were asked counts, or why it does not tell.
pub type Connections = BTreeMap<MemberId, Result<Peers, String>>;

/// The bytes that each of those that were asked received from a member.
pub type Received = BTreeMap<MemberId, String>;

/// What the other members say of a member, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// This one is connected with it.
    Connected(String),
    /// This one received data from it since the last look: it serves, and cannot be reached by the
    /// others.
    Sends(MemberId),
    /// Why nothing follows from their answers.
    Unproven(String),
    /// All that are healthy are connected with each other, and none with it.
    Silent,
}

/// The same over time. In the manager's memory: after a restart the time begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// What they said last.
    pub sign: Sign,
    /// What they had received from it.
    pub received: Received,
    /// Since when they have said that it is silent.
    pub since: Option<Timestamp>,
    /// When they were asked last.
    pub at: Timestamp,
}

/// What the members say of this one.
pub fn sign(members: &Members, id: MemberId, connections: &Connections) -> Sign {
    let label = |id: MemberId| {
        members
            .get(id)
            .map_or_else(|| id.to_string(), Member::label)
    };
    let is_connected = |said: &Result<Peers, String>| {
        said.as_ref()
            .is_ok_and(|peers| peers.connected.contains(&id))
    };
    if let Some((by, _)) = connections.iter().find(|(_, said)| is_connected(said)) {
        return Sign::Connected(label(*by));
    }
    let is_healthy = |member: &&Member| member.id != id && members.trouble(member).is_none();
    let healthy: Vec<MemberId> = members
        .voters()
        .filter(is_healthy)
        .map(|member| member.id)
        .collect();
    // that one counts its connections at all shows in another that it is connected with
    if healthy.len() < 2 {
        let is_other = |member: &&Member| member.id != id;
        let said =
            |member: &Member| Some(format!("{}: {}", member.label(), members.trouble(member)?));
        let troubles: Vec<String> = members.voters().filter(is_other).filter_map(said).collect();
        let why = if troubles.is_empty() {
            String::new()
        } else {
            format!(" ({})", troubles.join("; "))
        };
        return Sign::Unproven(format!("fewer than two other members are healthy{why}"));
    }
    if !members
        .leader
        .is_some_and(|leader| healthy.contains(&leader))
    {
        return Sign::Unproven(
            "the leader of etcd is not among the healthy members that the manager asks".into(),
        );
    }
    for one in &healthy {
        let with = match connections.get(one) {
            Some(Ok(peers)) => &peers.connected,
            Some(Err(why)) => return Sign::Unproven(format!("of member {}, {why}", label(*one))),
            None => return Sign::Unproven(format!("member {} was not asked", label(*one))),
        };
        let missing = healthy
            .iter()
            .find(|other| *other != one && !with.contains(other));
        if let Some(missing) = missing {
            return Sign::Unproven(format!(
                "members {} and {} both answer, and are not connected with each other: check port 2380 between their servers, both ways",
                label(*one),
                label(*missing)
            ));
        }
    }
    Sign::Silent
}

impl Watch {
    /// What is known after one more look. A member that nobody reaches may still reach others: what
    /// these receive shows it.
    #[must_use]
    pub fn next(before: Option<&Self>, sign: Sign, received: Received, at: Timestamp) -> Self {
        let before = before.filter(|before| {
            let gap = at.duration_since(before.at);
            SignedDuration::ZERO <= gap && gap <= GAP
        });
        let grown = before.and_then(|before| {
            let has_more = |by: &&MemberId| {
                let then = before.received.get(by);
                then.is_some_and(|then| number(then) < number(&received[by]))
            };
            received.keys().find(has_more)
        });
        let sign = match (sign, grown) {
            (Sign::Silent, Some(by)) => Sign::Sends(*by),
            (sign, _) => sign,
        };
        // less: the one that was asked began to count anew
        let since = (sign == Sign::Silent).then(|| {
            let same = before.filter(|before| before.received == received);
            same.and_then(|before| before.since).unwrap_or(at)
        });
        Self {
            sign,
            received,
            since,
            at,
        }
    }
}

/// A number of bytes; none was received where none is counted.
fn number(bytes: &str) -> f64 {
    bytes.parse().unwrap_or(0.0)
}

/// What those that were asked received from a member.
pub fn received(id: MemberId, connections: &Connections) -> Received {
    let said = connections.iter().filter_map(|(by, said)| {
        let bytes = said.as_ref().ok()?.received.get(&id);
        Some((*by, bytes.cloned().unwrap_or_default()))
    });
    said.collect()
}

#[cfg(test)]
#[path = "peers_tests.rs"]
pub(super) mod tests;
