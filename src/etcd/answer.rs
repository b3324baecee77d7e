//! etcd's answers. Its 64-bit numbers are strings, and fields with their default value are left
//! out.

use serde::{Deserialize, Deserializer};

use super::Error;
use tatara_core::control_plane::peers::Peers;
use tatara_core::control_plane::{Member, MemberId};

/// An ID, which is a string of decimal digits.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MemberId, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(MemberId).map_err(serde::de::Error::custom)
}

fn nobody() -> MemberId {
    MemberId(0)
}

/// The answer to a list of members.
#[derive(Deserialize)]
pub(super) struct Members {
    #[serde(default)]
    members: Vec<MemberAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberAnswer {
    #[serde(rename = "ID", deserialize_with = "id")]
    id: MemberId,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "peerURLs")]
    peer_urls: Vec<String>,
    #[serde(default)]
    is_learner: bool,
}

impl Members {
    /// The members, sorted by name and ID.
    ///
    /// # Errors
    /// There is none: an etcd that answers has members.
    pub(super) fn members(self) -> Result<Vec<Member>, Error> {
        let mut members: Vec<Member> = self.members.into_iter().map(Member::from).collect();
        members.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        if members.is_empty() {
            return Err(Error::Malformed("a list without members".into()));
        }
        Ok(members)
    }
}

impl From<MemberAnswer> for Member {
    fn from(answer: MemberAnswer) -> Self {
        Self {
            id: answer.id,
            name: answer.name,
            peer_urls: answer.peer_urls,
            is_learner: answer.is_learner,
        }
    }
}

#[derive(Deserialize)]
struct Header {
    #[serde(deserialize_with = "id")]
    member_id: MemberId,
}

#[derive(Deserialize)]
pub(super) struct StatusAnswer {
    header: Header,
    #[serde(default, deserialize_with = "id")]
    leader: MemberId,
}

/// How one member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its ID.
    pub id: MemberId,
    /// The leader that it knows, if there is one.
    pub leader: Option<MemberId>,
}

impl From<StatusAnswer> for Status {
    fn from(answer: StatusAnswer) -> Self {
        Self {
            id: answer.header.member_id,
            leader: Some(answer.leader).filter(|leader| leader.0 != 0),
        }
    }
}

/// An alarm, which stays until it is disarmed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Alarm {
    /// The member of which it is; 0, which stands nowhere, where etcd cannot tell whose data is
    /// damaged.
    #[serde(rename = "memberID", deserialize_with = "id", default = "nobody")]
    pub member: MemberId,
    /// `NOSPACE` or `CORRUPT`.
    #[serde(default)]
    pub alarm: String,
}

#[derive(Deserialize)]
pub(super) struct Alarms {
    #[serde(default)]
    pub(super) alarms: Vec<Alarm>,
}

/// The metric that counts the connections of a member with another. A member that it never reached
/// has none.
const ACTIVE: &str = "etcd_network_active_peers{";
/// The metric that counts the bytes that a member received from another, whoever connected.
const RECEIVED: &str = "etcd_network_peer_received_bytes_total{";

/// What a member counts of the others, from its metrics. A number of connections that cannot be
/// read counts as one.
pub(super) fn peers(metrics: &str) -> Peers {
    let mut peers = Peers::default();
    for line in metrics.lines() {
        if let Some((id, count)) = metric(line, ACTIVE, "Remote")
            && !count.parse::<f64>().is_ok_and(|count| count <= 0.0)
        {
            peers.connected.insert(id);
        }
        if let Some((id, bytes)) = metric(line, RECEIVED, "From") {
            peers.received.insert(id, bytes.to_owned());
        }
    }
    peers
}

/// The member that a metric is about, by this label, and its value.
fn metric<'a>(line: &'a str, name: &str, label: &str) -> Option<(MemberId, &'a str)> {
    let (labels, value) = line.strip_prefix(name)?.split_once('}')?;
    let mut labels = labels.split(',').filter_map(|pair| pair.split_once('='));
    let (_, id) = labels.find(|(key, _)| key.trim() == label)?;
    let id = u64::from_str_radix(id.trim().trim_matches('"'), 16).ok()?;
    Some((MemberId(id), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_counts_with_whom_it_is_connected() {
        let of = |lines: &[&str]| -> Vec<u64> {
            let connected = peers(&lines.join("\n")).connected;
            connected.iter().map(|id| id.0).collect()
        };
        let line = |remote: &str, count: &str| {
            format!(
                r#"etcd_network_active_peers{{Local="8e9e05c52164694d",Remote="{remote}"}} {count}"#
            )
        };
        let (one, gone) = (line("91bc3c398fb3c146", "1"), line("fd422379fda50e48", "0"));
        let help =
            "# HELP etcd_network_active_peers The current number of active peer connections.";
        let other = r#"etcd_network_disconnected_peers_total{Local="1",Remote="2"} 1"#;
        for (lines, expected) in [
            (vec![help, &one, &gone, other], vec![0x91bc_3c39_8fb3_c146]),
            (vec![&line("a", "2"), &line("b", "1e+00")], vec![10, 11]),
            (vec![&line("a", "?")], vec![10]),
            (vec![], vec![]),
        ] {
            assert_eq!(of(&lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn an_alarm_of_nobody_is_read() {
        let text = r#"{"alarms":[{"alarm":"CORRUPT"},{"memberID":"7","alarm":"NOSPACE"}]}"#;
        let read: Alarms = serde_json::from_str(text).expect("alarms");
        let read: Vec<_> = read.alarms.into_iter().map(|one| one.member.0).collect();
        assert_eq!(read, [0, 7]);
    }

    #[test]
    fn a_member_counts_what_it_received_from_each() {
        let lines = [
            r#"etcd_network_peer_received_bytes_total{From="91bc3c398fb3c146"} 1.234567e+06"#,
            r#"etcd_network_peer_received_bytes_total{From="b"} 40"#,
            r#"etcd_network_peer_sent_bytes_total{To="c"} 7"#,
        ];
        let received = peers(&lines.join("\n")).received;
        let expected = [(0x91bc_3c39_8fb3_c146, "1.234567e+06"), (11, "40")];
        let expected = expected.map(|(id, bytes)| (MemberId(id), bytes.to_owned()));
        assert_eq!(received.into_iter().collect::<Vec<_>>(), {
            let mut all = expected.to_vec();
            all.sort();
            all
        });
    }

    #[test]
    fn members_are_read_with_ids_of_64_bits_and_without_what_is_left_out() {
        let text = r#"{"header":{"cluster_id":"17237436991929493444","member_id":"9372538179322589801","raft_term":"2"},
            "members":[{"ID":"10276657743932975437","name":"host-b","peerURLs":["https://10.77.0.12:2380"],"clientURLs":["https://10.77.0.12:2379"]},
            {"ID":"9372538179322589801","peerURLs":["https://10.77.0.11:2380"],"isLearner":true}]}"#;
        let answer: Members = serde_json::from_str(text).unwrap();
        let members = answer.members().unwrap();
        assert_eq!(members[1].id, MemberId(10_276_657_743_932_975_437));
        assert_eq!(members[1].name, "host-b");
        assert!(
            members[0].is_learner && !members[0].is_started() && members[0].is_at("10.77.0.11")
        );
    }

    #[test]
    fn a_list_without_members_is_no_list() {
        for text in ["{}", r#"{"members":[]}"#] {
            let answer: Members = serde_json::from_str(text).unwrap();
            assert!(answer.members().is_err(), "{text}");
        }
    }

    #[test]
    fn a_member_without_leader_leaves_it_out() {
        let text = r#"{"header":{"member_id":"7"},"version":"3.6.8","dbSize":"24576","errors":["etcdserver: no leader"]}"#;
        let status = Status::from(serde_json::from_str::<StatusAnswer>(text).unwrap());
        assert_eq!((status.id, status.leader), (MemberId(7), None));
    }
}
