//! The members of a control plane's etcd, as plain data.

use core::fmt;
use std::collections::BTreeMap;

use serde::Serialize;

/// ID of an etcd member. A member that is removed and joins again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct MemberId(pub u64);

impl fmt::Display for MemberId {
    /// As etcd's own messages and `etcdctl` have it: hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// A member, according to etcd's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its ID.
    pub id: MemberId,
    /// The name that it started with, which kubeadm makes that of its Node. Empty until it has
    /// started for the first time.
    pub name: String,
    /// Where the other members reach it, such as `https://10.0.0.11:2380`.
    pub peer_urls: Vec<String>,
    /// It receives the data and does not vote yet.
    pub is_learner: bool,
}

impl Default for MemberId {
    /// No member has the ID 0.
    fn default() -> Self {
        Self(0)
    }
}

impl Member {
    /// Whether it has started once, so that it has a name.
    pub fn is_started(&self) -> bool {
        !self.name.is_empty()
    }

    /// Whether its peers reach it at this IP address.
    pub fn is_at(&self, address: &str) -> bool {
        self.hosts().any(|host| host == address)
    }

    /// Where its peers reach it: IP addresses.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.peer_urls.iter().map(|url| host_of(url))
    }

    /// Its name, or where it is, for messages.
    pub fn label(&self) -> String {
        if self.is_started() {
            return self.name.clone();
        }
        self.hosts().collect::<Vec<_>>().join(", ")
    }
}

/// The host of a URL such as `https://[fd00::1]:2380`, without brackets.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or_default();
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => rest.split(':').next().unwrap_or_default(),
    }
}

/// Whether a member serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum MemberHealth {
    /// It answers, knows the leader, and has no error and no alarm.
    Healthy,
    /// What is wrong with it, for messages.
    Unhealthy(String),
}

/// The members according to one list of a member that had the quorum (`linearizable`), and the
/// health of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Members {
    /// All that are listed.
    pub list: Vec<Member>,
    /// Their health; who is missing was not reached.
    pub health: BTreeMap<MemberId, MemberHealth>,
    /// The leader, if there is one.
    pub leader: Option<MemberId>,
    /// `NOSPACE` and `CORRUPT`, with the member that raised it.
    pub alarms: Vec<(MemberId, String)>,
}

impl Members {
    /// The member of this ID.
    pub fn get(&self, id: MemberId) -> Option<&Member> {
        self.list.iter().find(|member| member.id == id)
    }

    /// The member that its peers reach at this IP address.
    pub fn at(&self, address: &str) -> Option<&Member> {
        self.list.iter().find(|member| member.is_at(address))
    }

    /// The member that has one of these addresses or names: each of the two can be edited where it
    /// is recorded.
    pub fn of<'a>(&self, addresses: &[&'a str], names: &[&'a str]) -> Option<&Member> {
        self.list.iter().find(|member| {
            addresses.iter().any(|address| member.is_at(address))
                || (member.is_started() && names.contains(&member.name.as_str()))
        })
    }

    /// The members that vote.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.list.iter().filter(|member| !member.is_learner)
    }

    /// Whether all members vote and are healthy, without an alarm.
    pub fn is_well(&self) -> bool {
        let is_well = |member: &Member| !member.is_learner && self.trouble(member).is_none();
        self.alarms.is_empty() && !self.list.is_empty() && self.list.iter().all(is_well)
    }

    /// Why a member is not healthy; `None` if it is.
    pub fn trouble(&self, member: &Member) -> Option<&str> {
        match self.health.get(&member.id) {
            _ if !member.is_started() => Some("it was added and has not started"),
            Some(MemberHealth::Healthy) => None,
            Some(MemberHealth::Unhealthy(why)) => Some(why),
            None => Some("it belongs to no Machine of this Cluster, so it is not asked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, urls: &[&str]) -> Member {
        Member {
            name: name.into(),
            peer_urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            ..Member::default()
        }
    }

    #[test]
    fn a_member_is_found_by_the_host_of_its_peer_urls_alone() {
        let table = [
            ("https://10.0.0.11:2380", "10.0.0.11", true),
            ("https://10.0.0.11:2380", "10.0.0.1", false),
            ("https://10.0.0.11:2380/", "10.0.0.11", true),
            ("http://10.0.0.11", "10.0.0.11", true),
            ("https://[fd00::11]:2380", "fd00::11", true),
            ("https://[fd00::11]:2380", "fd00", false),
            ("", "10.0.0.11", false),
        ];
        for (url, address, expected) in table {
            assert_eq!(member("a", &[url]).is_at(address), expected, "{url}");
        }
        assert!(!member("a", &[]).is_at(""));
    }

    #[test]
    fn one_that_has_not_started_is_named_by_its_address() {
        assert_eq!(member("a", &["https://10.0.0.1:2380"]).label(), "a");
        let both = ["https://10.0.0.1:2380", "https://10.0.0.2:2380"];
        assert_eq!(member("", &both).label(), "10.0.0.1, 10.0.0.2");
        assert_eq!(MemberId(0x0008_e9e0_5c52_164d).to_string(), "8e9e05c52164d");
    }
}
