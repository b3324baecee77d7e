//! What is said of an update that fails: cause, remedy, and what it leaves.

use super::super::super::observed::{Lookup, Observed};
use super::super::Plan;
use super::super::deletion::after_deletion;
use crate::api::conditions::{ConditionType, Finding, Reason, Severity, Status};
use crate::control_plane::{Change, permits};
use crate::remedy;

/// The failure of an update, if that is what is found.
pub(super) fn of(found: &mut [Finding]) -> Option<&mut Finding> {
    found.iter_mut().find(|finding| {
        let is_warning = finding.reason().severity() == Severity::Warning;
        finding.condition == ConditionType::Updating && is_warning
    })
}

/// What a failed update leaves.
pub(super) fn cordoned(observed: &Observed) -> String {
    match observed
        .known_node()
        .filter(|node| node.is_cordoned_by_us())
    {
        Some(node) => format!(
            "\nNode {} is cordoned meanwhile; it takes pods again when the update has ended, also when what was edited is set back",
            node.name
        ),
        None => String::new(),
    }
}

/// A Node that is not Ready because of its update says so.
pub(super) fn also_of_node(plan: &mut Plan, trouble: &Finding) {
    let mut findings = plan.findings.iter_mut();
    let health = findings.find(|finding| {
        finding.condition == ConditionType::NodeHealthy && finding.status != Status::True
    });
    if let Some(health) = health {
        let (why, node) = (trouble.message(), health.message());
        let why = why.lines().next().unwrap_or_default();
        let node = node.trim_end_matches('.');
        // of a host that is off both say the same
        let told = match why.split_once(". ") {
            Some((cause, remedy)) if node.contains(cause) => format!("{node}. {remedy}"),
            _ if node.contains(why) => return,
            _ => format!("{node}. Its update fails: {why}"),
        };
        health.reword(told);
    }
}

/// The host does not answer while its Machine is updated. Only a Machine that may leave is to be
/// deleted.
pub(super) fn out_of_reach(observed: &Observed, reason: Reason, message: &str) -> String {
    let is_silent = [Reason::SshUnreachable, Reason::SshDisconnected].contains(&reason);
    if !is_silent {
        return message.to_owned();
    }
    // others repeat the first line, so what to do is in it
    let (why, rest) = message.split_once('\n').unwrap_or((message, ""));
    let why = why.trim_end_matches('.');
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("\n{rest}")
    };
    let lost = if_lost(observed);
    format!("{why}. Power its host on: the update then goes on. {lost}{rest}")
}

/// What to do about a machine that does not come back.
pub fn if_lost(observed: &Observed) -> String {
    let marker = &observed.marker;
    if !may_leave(observed) {
        return format!(
            "Do not delete this Machine: etcd cannot do without its member; if its host is lost for good, condition EtcdHealthy of Cluster {} says what to do",
            marker.cluster
        );
    }
    let after = after_deletion(observed);
    let delete = remedy::delete_machine(&marker.namespace, &marker.machine);
    format!(
        "If it is lost for good, delete the Machine ({after}; the deletion says how to confirm the loss): {delete}"
    )
}

/// A control plane leaves only where etcd keeps its quorum.
fn may_leave(observed: &Observed) -> bool {
    if !observed.acts_as_control_plane() {
        return true;
    }
    let cluster = observed.cluster.as_ref();
    let Some(Lookup::Known(members)) = cluster.map(|cluster| &cluster.etcd) else {
        return false;
    };
    let member = observed.member(members);
    member.is_some_and(|member| permits(members, Change::Remove(member.id)).is_ok())
}
