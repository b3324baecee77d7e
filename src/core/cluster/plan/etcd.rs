//! The condition of a Cluster about the members of its etcd.

use super::super::observed::Observed;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::control_plane::{Member, Members, quorum};

const ETCD: ConditionType = ConditionType::EtcdHealthy;

/// Whether all members serve and belong to a Machine; `None` if the etcd is not ours, or was not read yet.
pub(super) fn health(observed: &Observed) -> Option<Finding> {
    let members = match observed.etcd.as_ref()? {
        Ok(members) => members,
        Err(why) => return Some(unread(why)),
    };
    Some(trouble(observed, members).unwrap_or_else(|| {
        let names: Vec<String> = members.list.iter().map(Member::label).collect();
        Finding::yes(ETCD, Reason::MembersHealthy, names.join(", "))
    }))
}

fn unread(why: &str) -> Finding {
    let message = format!(
        "no etcd member gives a list of the members that the others confirm, so nothing of the control plane is changed: {why}. If more than half of its machines are lost for good, follow docs/day-2.md#lost-quorum"
    );
    Finding::unknown(ETCD, Reason::EtcdUnreachable, message)
}

fn trouble(observed: &Observed, members: &Members) -> Option<Finding> {
    let no = |reason, message| Some(Finding::no(ETCD, reason, message));
    if let Some(obstacle) = quorum::trouble(members) {
        return no(obstacle.reason(), obstacle.message());
    }
    let mut all = members.list.iter();
    if let Some(stranger) = all.find(|member| !has_machine(observed, member)) {
        return no(Reason::MemberWithoutMachine, without_machine(stranger));
    }
    let unhealthy: Vec<String> = members
        .voters()
        .filter_map(|member| Some(format!("{}: {}", member.label(), members.trouble(member)?)))
        .collect();
    if unhealthy.is_empty() {
        return None;
    }
    let message = format!(
        "{} of {} etcd members {} not healthy ({}); start that machine, or delete its Machine: its member is then removed through the others",
        unhealthy.len(),
        members.voters().count(),
        if unhealthy.len() == 1 { "is" } else { "are" },
        unhealthy.join("; ")
    );
    no(Reason::MemberUnhealthy, message)
}

fn without_machine(stranger: &Member) -> String {
    format!(
        "etcd member {} ({}) belongs to no Machine of this Cluster, and counts for its quorum. If its machine does not run any more, remove the member: kubectl -n kube-system exec etcd-NODE -- etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key member remove {}",
        stranger.label(),
        stranger.peer_urls.join(", "),
        stranger.id
    )
}

fn has_machine(observed: &Observed, member: &Member) -> bool {
    let mut addresses = observed.machines.iter().flat_map(|m| &m.addresses);
    addresses.any(|address| member.is_at(address))
}
