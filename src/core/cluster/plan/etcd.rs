//! The condition of a Cluster about the members of its etcd.

use kube::ResourceExt;

use super::super::observed::Observed;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::control_plane::{Member, Members, Obstacle, quorum};

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
        "the manager reads no list of etcd members that has a quorum, so it changes nothing of the control plane: {why}. If the API of the cluster still takes writes, etcd serves: restore SSH from the manager to these hosts. Otherwise start them. Only if they are lost for good: docs/day-2.md#lost-quorum, or of an only control plane docs/operating.md#dead-control-plane"
    );
    Finding::unknown(ETCD, Reason::EtcdUnreachable, message)
}

/// Strangers first: they count, are not asked, and so are what is wrong where too few answer.
fn trouble(observed: &Observed, members: &Members) -> Option<Finding> {
    let no = |reason, message| Some(Finding::no(ETCD, reason, message));
    let mut all = members.list.iter();
    if let Some(stranger) = all.find(|member| machine_of(observed, member).is_none()) {
        let message = without_machine(observed, stranger);
        return no(Reason::MemberWithoutMachine, message);
    }
    if let Some(obstacle) = quorum::trouble(members) {
        return no(obstacle.reason(), obstacle.message());
    }
    let said = |member: &Member| {
        let machine = machine_of(observed, member).unwrap_or_default();
        let (label, why) = (member.label(), members.trouble(member)?);
        Some(format!("{label} (Machine {machine}): {why}"))
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
    let obstacle = Obstacle::ChangeUnderWay(learner.label());
    no(obstacle.reason(), obstacle.message())
}

fn without_machine(observed: &Observed, stranger: &Member) -> String {
    let (label, urls, id) = (stranger.label(), stranger.peer_urls.join(", "), stranger.id);
    format!(
        "etcd member {label} ({urls}) belongs to no Machine of Cluster {}, and counts for its quorum; while it is listed, no further control plane takes part in holding a virtual IP. If its server runs: on it, kubeadm reset, which removes the member; then in the cluster, kubectl delete node {label}. If it does not run any more: on the host of another control plane, ctl member remove {id} (ctl: docs/day-2.md#ctl)",
        observed.cluster.name_any()
    )
}

/// The Machine that has a member, by its address.
fn machine_of<'a>(observed: &'a Observed, member: &Member) -> Option<&'a str> {
    let mut machines = observed.machines.iter();
    let machine = machines.find(|machine| machine.addresses.iter().any(|at| member.is_at(at)))?;
    Some(&machine.name)
}
