//! Deletion: profile → workers → control plane → the rest.

use kube::ResourceExt;

use super::super::observed::{MachineFact, Observed};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{FINALIZER_CLUSTER, FINALIZER_PROFILE};
use crate::pace::Asked;
use crate::remedy;
use crate::trouble;
use crate::words::counted;

/// How many Machines a message names.
const NAMED: usize = 3;

/// The profile first, so that consumers stop using the cluster; then workers, then the control
/// plane, then the rest.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan {
        phase: "Deleting",
        findings: vec![Finding::no(ConditionType::Paused, Reason::NotPaused, "")],
        ..Plan::default()
    };
    let finalizers = observed.cluster.finalizers();
    let finding = if !finalizers.iter().any(|f| f == FINALIZER_CLUSTER) {
        return plan;
    } else if finalizers.iter().any(|f| f == FINALIZER_PROFILE) {
        Finding::yes(
            ConditionType::Deleting,
            Reason::WithdrawingProfile,
            "the ClusterProfile is removed first, so that its consumers stop using the cluster",
        )
    } else if observed.machines.is_empty()
        && observed.sets_left == 0
        && observed.unlabelled.is_empty()
    {
        plan.actions.push(Action::Finish);
        Finding::yes(
            ConditionType::Deleting,
            Reason::Finishing,
            "nothing is left of it",
        )
    } else {
        if observed.sets_left > 0 || observed.machines.iter().any(|machine| !machine.deleting) {
            plan.actions.push(Action::DeleteChildren);
        }
        // their Nodes are in a cluster that stays, and a manager that has started since is not
        // connected with it
        if observed.external && !observed.connected && observed.kubeconfig_problem.is_none() {
            plan.actions.push(Action::Connect);
        }
        let message = what_is_left(observed);
        Finding::yes(ConditionType::Deleting, Reason::WaitingForMachines, message)
    };
    plan.next = Asked::about(finding.reason()).by_cluster();
    plan.findings.push(Finding::no(
        ConditionType::Ready,
        Reason::Deleting,
        finding.message(),
    ));
    plan.findings.push(finding);
    plan
}

/// Whose deletion it waits for, and the worst that keeps one of them.
fn what_is_left(observed: &Observed) -> String {
    let count = |control_plane: bool| {
        observed
            .machines
            .iter()
            .filter(|m| m.control_plane == control_plane)
            .count()
    };
    let unreadable = match observed.unreadable.join(", ") {
        which if which.is_empty() => which,
        which => format!(
            "; {which} cannot be read, and stays until it is corrected: its Event says what is wrong"
        ),
    };
    let blocked = observed.machines.iter().filter_map(|m| m.trouble.as_ref());
    let worst = trouble::worst(blocked.filter(|trouble| trouble.is_warning()));
    let message = format!(
        "{} and {} are left{}{unreadable}{}; {} shows what each waits for",
        counted(count(false), "worker"),
        counted(count(true), "control-plane Machine"),
        named(&observed.machines),
        unlabelled(observed),
        remedy::describe_cluster(
            &observed.cluster.namespace().unwrap_or_default(),
            &observed.cluster.name_any()
        )
    );
    trouble::beside(message, worst)
}

/// The first few that are left, workers first, each with its reason.
fn named(machines: &[MachineFact]) -> String {
    let mut machines: Vec<&MachineFact> = machines.iter().collect();
    machines.sort_by_key(|machine| (machine.control_plane, machine.name.as_str()));
    let name = |machine: &&MachineFact| match machine.reason.as_str() {
        "" => machine.name.clone(),
        reason => format!("{} ({reason})", machine.name),
    };
    let names: Vec<String> = machines.iter().take(NAMED).map(name).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = if machines.len() > NAMED { ", ..." } else { "" };
    format!(": {}{more}", names.join(", "))
}

/// Machines that are the Cluster's, and that its label does not name: a claim can be edited as
/// well, so a person decides whether such a Machine is deleted.
fn unlabelled(observed: &Observed) -> String {
    let [first, ..] = observed.unlabelled.as_slice() else {
        return String::new();
    };
    let (namespace, name) = (
        observed.cluster.namespace().unwrap_or_default(),
        observed.cluster.name_any(),
    );
    format!(
        "; these Machines also belong to it, according to their Hosts or Nodes, but their label does not name it: {}. Delete each ({}), \
         or restore its label ({}), after which it is deleted with the Cluster",
        observed.unlabelled.join(", "),
        remedy::machine::delete(&namespace, first),
        remedy::machine::set_cluster(&namespace, first, &name)
    )
}
