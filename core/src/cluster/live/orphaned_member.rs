//! Whether a member of etcd that belongs to no Machine is removed now, and what came of it.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::api::Cluster;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::ANNOTATION_PAUSED;
use crate::cluster::plan::etcd::{removed, without_machine};
use crate::control_plane::orphaned_members::{self, Facts};
use crate::control_plane::{Member, MemberId, Members, quorum};

/// Whether the Cluster, read live, may be changed still.
pub fn may_change(live: &Cluster) -> bool {
    let is_paused = live.annotations().contains_key(ANNOTATION_PAUSED);
    !is_paused && live.metadata.deletion_timestamp.is_none()
}

/// The member, beside the list that was read just now; `None` if it is gone.
///
/// # Errors
/// No list can be read.
pub fn listed(
    members: Result<Arc<Members>, String>,
    id: MemberId,
) -> Result<Option<(Arc<Members>, Member)>, Finding> {
    let members = members.map_err(|why| not_yet(Reason::EtcdUnreachable, why))?;
    let member = members.get(id).cloned();
    Ok(member.map(|member| (members, member)))
}

/// Since when the member does not serve, if it may be removed by this list and these facts.
///
/// # Errors
/// Why it stays.
pub fn may_remove(
    cluster: &Cluster,
    (members, member): (&Members, &Member),
    facts: &Facts,
) -> Result<Timestamp, Finding> {
    orphaned_members::removable(members, facts)
        .map_err(|kept| without_machine(cluster, member, &Err(kept)))
}

/// What came of a removal.
#[derive(Clone, Debug, PartialEq)]
pub enum Removal {
    /// It is removed.
    Done(Finding),
    /// It is not, and this is why.
    Refused(Finding),
}

/// What came of the removal of a member that did not serve `since` then. `answer`: etcd's,
/// `Ok(false)` is its refusal for now. `left`: the list that was read afterwards, if it could be
/// read. What was asked may have happened without an answer.
pub fn came(
    cluster: &Cluster,
    (member, since): (&Member, Timestamp),
    answer: Result<bool, String>,
    left: Option<&Members>,
) -> Removal {
    let is_removed = left.map_or(answer == Ok(true), |left| left.get(member.id).is_none());
    if is_removed {
        return Removal::Done(removed(cluster, member, since));
    }
    Removal::Refused(match answer {
        Ok(_) => not_yet(Reason::MemberChanging, quorum::refused_for_now(member)),
        Err(why) => not_yet(Reason::EtcdUnreachable, why),
    })
}

fn not_yet(reason: Reason, message: String) -> Finding {
    Finding::no(ConditionType::EtcdHealthy, reason, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::control_plane::MemberHealth;
    use crate::control_plane::orphaned_members::SILENT_FOR;
    use crate::control_plane::peers::{Sign, Watch};

    const LOST: MemberId = MemberId(4);

    fn cluster(annotations: &Value, deleted: &Value) -> Cluster {
        let network = json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
        let cluster = json!({
            "metadata": {"name": "c", "namespace": "n", "annotations": annotations, "deletionTimestamp": deleted},
            "spec": {"clusterNetwork": network},
        });
        serde_json::from_value(cluster).expect("a Cluster")
    }

    fn own() -> Cluster {
        cluster(&Value::Null, &Value::Null)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    /// Three members that serve, and one that does not.
    fn members() -> Members {
        let member = |id| Member {
            id: MemberId(id),
            name: format!("m{id}"),
            peer_urls: vec![format!("https://10.0.0.{id}:2380")],
            is_learner: false,
        };
        Members {
            list: (1..=4).map(member).collect(),
            health: (1..=3)
                .map(|id| (MemberId(id), MemberHealth::Healthy))
                .collect(),
            leader: Some(MemberId(1)),
            ..Members::default()
        }
    }

    fn facts() -> Facts {
        Facts {
            id: LOST,
            at: at(0),
            ours: None,
            watch: Watch {
                sign: Sign::Silent,
                received: BTreeMap::new(),
                since: at(0).checked_sub(SILENT_FOR).ok(),
                at: at(0),
            },
            nodes: Ok(Vec::new()),
            busy: None,
        }
    }

    #[test]
    fn a_cluster_that_is_paused_or_goes_is_not_changed_any_more() {
        let (paused, none) = (json!({ (ANNOTATION_PAUSED): "true" }), Value::Null);
        let goes = json!("2027-01-15T08:00:00Z");
        for (case, annotations, deleted, may) in [
            ("stays", &none, &none, true),
            ("paused", &paused, &none, false),
            ("goes", &none, &goes, false),
        ] {
            assert_eq!(may_change(&cluster(annotations, deleted)), may, "{case}");
        }
    }

    #[test]
    fn a_member_is_judged_only_by_a_list_that_has_it() {
        let members = || Ok(Arc::new(members()));
        let found = listed(members(), LOST).expect("a list");
        assert_eq!(found.map(|(_, member)| member.id), Some(LOST));
        let gone = listed(members(), MemberId(9)).expect("a list");
        assert_eq!(gone, None);
        let unread = listed(Err("no answer".into()), LOST).expect_err("no list");
        assert_eq!(unread.reason(), Reason::EtcdUnreachable);
        assert_eq!(unread.message(), "no answer");
    }

    #[test]
    fn a_member_stays_for_each_thing_that_forbids_its_removal() {
        let members = members();
        let member = members.get(LOST).expect("the member");
        let two = Members {
            health: [(MemberId(1), MemberHealth::Healthy)].into(),
            ..members.clone()
        };
        let with = |change: fn(&mut Facts)| {
            let mut facts = facts();
            change(&mut facts);
            facts
        };
        for (case, members, facts, goes) in [
            ("silent for long", &members, facts(), true),
            (
                "on a server of ours",
                &members,
                with(|f| f.ours = Some("Host h".into())),
                false,
            ),
            (
                "not for long",
                &members,
                with(|f| f.watch.since = Some(f.at)),
                false,
            ),
            (
                "connected",
                &members,
                with(|f| f.watch.sign = Sign::Connected("m1".into())),
                false,
            ),
            (
                "its Node runs",
                &members,
                with(|f| {
                    let node = crate::NodeView {
                        ready: Some(false),
                        ..Default::default()
                    };
                    f.nodes = Ok(vec![Arc::new(node)]);
                }),
                false,
            ),
            (
                "Nodes unread",
                &members,
                with(|f| f.nodes = Err("no".into())),
                false,
            ),
            ("no quorum without it", &two, facts(), false),
            (
                "another joins",
                &members,
                with(|f| f.busy = Some("cp-3".into())),
                false,
            ),
        ] {
            let may = may_remove(&own(), (members, member), &facts);
            assert_eq!(may.is_ok(), goes, "{case}: {may:?}");
            let reason = may.err().map(|finding| finding.reason());
            assert!(reason.is_none_or(|of| of == Reason::MemberWithoutMachine));
        }
    }

    #[test]
    fn a_member_is_removed_once_a_list_lacks_it_whatever_etcd_answered() {
        let with = members();
        let mut without = with.clone();
        without.list.retain(|member| member.id != LOST);
        let member = with.get(LOST).expect("the member");
        let silent = || Err("no answer".to_owned());
        for (case, answer, left, reason) in [
            ("done", Ok(true), Some(&without), Reason::MemberRemoved),
            ("unread", Ok(true), None, Reason::MemberRemoved),
            ("unheard", silent(), Some(&without), Reason::MemberRemoved),
            ("later", Ok(false), Some(&without), Reason::MemberRemoved),
            ("not yet", Ok(false), Some(&with), Reason::MemberChanging),
            ("still", Ok(true), Some(&with), Reason::MemberChanging),
            ("refused", Ok(false), None, Reason::MemberChanging),
            ("silent", silent(), Some(&with), Reason::EtcdUnreachable),
            ("nothing", silent(), None, Reason::EtcdUnreachable),
        ] {
            let came = came(&own(), (member, at(0)), answer, left);
            let is_done = reason == Reason::MemberRemoved;
            assert_eq!(matches!(came, Removal::Done(_)), is_done, "{case}");
            let (Removal::Done(finding) | Removal::Refused(finding)) = came;
            assert_eq!(finding.reason(), reason, "{case}");
        }
    }
}
