//! CoreDNS and kube-proxy after a control plane was replaced machine by machine: `kubeadm join`
//! leaves them as they are, and `kubeadm upgrade` was not run. Once all control planes run the
//! version to which kubeadm's record was raised, one of them runs kubeadm's phase for its addons,
//! once.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Contact, Infrastructure, Observed};
use super::super::peers::AddonsDue;
use super::super::units;
use super::{Action, Plan, job};
use crate::api::conditions::{ConditionType, Finding, Status};
use crate::node::{JobKind, Observation};
use crate::{Next, pace};

const ADDONS: ConditionType = ConditionType::KubeadmAddonsUpToDate;

/// Whether its host has to be asked because of the addons.
pub fn is_due(observed: &Observed) -> bool {
    due(observed).is_some_and(|due| due.waits_for.is_none())
}

/// The addons that are due here, if this is the Machine that sees to it.
fn due(observed: &Observed) -> Option<&AddonsDue> {
    let cluster = observed
        .cluster
        .as_ref()
        .filter(|cluster| !cluster.deleting)?;
    let is_ready = observed
        .known_node()
        .is_some_and(|node| node.ready == Some(true));
    let due = cluster.peers.lane.addons.as_ref()?;
    (is_ready && !observed.is_deleting() && observed.spec.is_ok()).then_some(due)
}

/// Adds them to the plan of a Machine that has a Node.
pub(super) fn keep(observed: &Observed, held: &Infrastructure, plan: &mut Plan, now: Timestamp) {
    let Some(AddonsDue { version, waits_for }) = due(observed) else {
        return;
    };
    if let Some(machine) = waits_for {
        plan.findings.push(not(format!(
            "CoreDNS and kube-proxy follow to {version} when control-plane Machine {machine} runs it, or is gone"
        )));
        return;
    }
    let mut step = match &held.contact {
        Contact::SelfRegistering(_) => return,
        Contact::Seen(seen) => on_host(observed, seen, version, now),
        Contact::NotAsked => match &observed.follow {
            Some(follow) if follow.job.kind == JobKind::Addons => job::followed(observed, follow),
            _ => wait("waiting for another job on its host".into()),
        },
        Contact::Unreachable { message, .. } => wait(message.clone()),
    };
    for finding in &mut step.findings {
        finding.condition = ADDONS;
        finding.status = Status::False;
    }
    plan.actions.extend(step.actions);
    plan.findings.extend(step.findings);
    plan.next = plan.next.sooner(step.next);
}

fn on_host(observed: &Observed, seen: &Observation, version: &str, now: Timestamp) -> Plan {
    let unit = match units::addons(observed) {
        Ok(unit) => unit,
        Err(problem) => return wait(problem),
    };
    let attempt = job::next(observed, seen, &job::of_unit(observed, &unit), now);
    let starts = || not(format!("{} to {version} starts", unit.kind.title()));
    job::plan(unit.kind, &attempt, starts).unwrap_or_else(|| Plan {
        actions: vec![Action::EndAddons(version.to_owned())],
        ..Plan::default()
    })
}

/// For its host. The same reason stands for a job that runs, and for another Machine: both wake it.
fn wait(message: String) -> Plan {
    Plan {
        next: Next::After(pace::SERVER),
        ..Plan::waiting(not(message))
    }
}

fn not(message: String) -> Finding {
    Finding::no(ADDONS, JobKind::Addons.running(), message)
}
