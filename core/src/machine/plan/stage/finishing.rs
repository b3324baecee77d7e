//! The commands after kubeadm (`postKubeadmCommands`): the Node is there before they have ended,
//! and when they failed.

use k8s_openapi::jiff::Timestamp;

use super::super::{Plan, job};
use super::{running, unread};
use crate::NodeView;
use crate::api::conditions::{ConditionType, Finding};
use crate::machine::observed::{Contact, Infrastructure, Observed};
use crate::node::{JobKind, Observation};

/// Keeps the Node according to the Machine's spec, and runs the commands until all have succeeded.
pub(super) fn plan(
    observed: &Observed,
    held: &Infrastructure,
    node: &NodeView,
    now: Timestamp,
) -> Plan {
    let mut plan = running::of_node(observed, node);
    let Some(rest) = unfinished(observed, held, now) else {
        return plan;
    };
    let is_said = |finding: &Finding| {
        rest.findings
            .iter()
            .any(|f| f.condition == finding.condition)
    };
    plan.findings.retain(|finding| !is_said(finding));
    plan.findings.extend(rest.findings);
    plan.actions.extend(rest.actions);
    plan.next = rest.next;
    plan
}

/// What of the Machine's unit has not succeeded, as far as its host says so.
fn unfinished(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Option<Plan> {
    match &held.contact {
        Contact::SelfRegistering(_) => None,
        Contact::NotAsked => {
            let follow = observed.follow.as_ref();
            follow
                .is_some_and(|follow| follow.job.kind.bootstraps())
                .then(|| unread::followed(observed))
        }
        Contact::Unreachable { reason, message } => Some(Plan::waiting(Finding::unknown(
            ConditionType::BootstrapReady,
            *reason,
            format!("cannot check whether its postKubeadmCommands succeeded: {message}"),
        ))),
        Contact::Seen(seen) => on_host(observed, seen, now),
    }
}

/// Where kubeadm itself did not succeed, nothing is tried again under a Node that is there: that
/// would undo it first.
fn on_host(observed: &Observed, seen: &Observation, now: Timestamp) -> Option<Plan> {
    let owner = seen.owner.of(&observed.marker)?;
    let unit = match (owner.initialized, owner.joined) {
        (true, _) => JobKind::Init,
        (_, true) => JobKind::Join,
        _ => running_unit(observed, seen)?,
    };
    seen.job(&observed.marker.job(unit))?;
    job::unfinished(observed, seen, unit, now)
}

/// kubeadm has made the Node, and goes on.
fn running_unit(observed: &Observed, seen: &Observation) -> Option<JobKind> {
    let runs = |kind: &JobKind| seen.runs(&observed.marker.job(*kind));
    [JobKind::Init, JobKind::Join].into_iter().find(runs)
}
