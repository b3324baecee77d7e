//! The drain of the Node of a Machine that is being deleted: when there is one, how long it may last, and what is reported of
//! it in condition `Draining`. Its time limit counts from the beginning of the drain, which the condition records.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Lookup, Observed};
use super::delete::{API_AGAIN, cluster_goes, deleted_at, deleting};
use super::{Action, DRAIN_AGAIN, Plan, known_node};
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};
use crate::api::names::{ANNOTATION_CORDONED, ANNOTATION_EXCLUDE_DRAIN};
use crate::core::Next;
use crate::core::node::Marker;

/// Puts the drain and the wait for volumes before a release, each waiting for the one before. Nothing is drained without a
/// Node, when the whole cluster goes, when the user excluded it, and after its time limit.
pub(super) fn first(observed: &Observed, release: Plan, now: Timestamp) -> Plan {
    let skips = is_excluded(observed) || cluster_goes(observed) || has_timed_out(observed, now);
    let Some(node) = known_node(observed).filter(|_| !skips) else {
        return ended(observed, release, now);
    };
    let mut actions = vec![
        Action::Drain {
            node: node.name.clone(),
            uid: node.uid.clone(),
        },
        Action::AwaitVolumes {
            node: node.name.clone(),
        },
    ];
    actions.extend(release.actions);
    let message = format!("evicting the pods of Node {}", node.name);
    let mut findings = vec![deleting(Reason::Draining, message.clone())];
    if !is_drained(observed) {
        findings.push(Finding::yes(
            ConditionType::Draining,
            Reason::Draining,
            message,
        ));
    }
    Plan {
        actions,
        findings,
        next: Next::After(DRAIN_AGAIN),
        ..Plan::default()
    }
}

/// Reports that a drain is over, in a plan that has none.
pub(super) fn ended(observed: &Observed, mut plan: Plan, now: Timestamp) -> Plan {
    let finding = if !is_under_way(observed) {
        return plan;
    } else if has_timed_out(observed, now) {
        let limit = drain_limit(observed).unwrap_or_default();
        let message = format!(
            "not all pods were evicted within nodeDrainTimeoutSeconds ({limit} s); those that were left end with the release of the machine"
        );
        Finding::no(ConditionType::Draining, Reason::DrainTimedOut, message)
    } else {
        Finding::no(ConditionType::Draining, Reason::Drained, "")
    };
    plan.findings.push(finding);
    plan
}

/// Makes the Node of a Machine that stays schedulable again, if it was cordoned by Tatara.
pub(super) fn undo(observed: &Observed, plan: &mut Plan) {
    let is_ours =
        |node: &&crate::core::NodeView| node.annotations.contains_key(ANNOTATION_CORDONED);
    if let Some(node) = known_node(observed).filter(is_ours) {
        plan.actions.push(Action::UncordonNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    if is_under_way(observed) || is_drained(observed) {
        let message = "this Machine stays, so its Node takes pods again";
        let stopped = Finding::no(ConditionType::Draining, Reason::DrainStopped, message);
        plan.findings.push(stopped);
    }
}

/// Completes the findings of a plan by what was found while acting: a wait for what follows the drain shows that it is over.
pub(super) fn learned(findings: &mut Vec<Finding>, found: &Finding) {
    if [Reason::WaitingForVolumes, Reason::WaitingForHook].contains(&found.reason) {
        let draining = |finding: &Finding| finding.condition == ConditionType::Draining;
        if findings.iter().any(draining) {
            findings.retain(|finding| !draining(finding));
            findings.push(Finding::no(ConditionType::Draining, Reason::Drained, ""));
        }
    }
}

/// What condition `Draining` of a plan says is what its deletion waits for.
pub(super) fn repeat(findings: &mut [Finding]) {
    let draining = findings
        .iter()
        .find(|f| f.condition == ConditionType::Draining && f.status == Status::True)
        .cloned();
    let waits = findings
        .iter_mut()
        .find(|f| f.condition == ConditionType::Deleting && f.reason == Reason::Draining);
    if let (Some(draining), Some(waits)) = (draining, waits) {
        (waits.reason, waits.message) = (draining.reason, draining.message);
    }
}

fn told(observed: &Observed) -> Option<&Condition> {
    let status = observed.machine.status.as_ref()?;
    conditions::find(&status.conditions, ConditionType::Draining)
}

fn is_under_way(observed: &Observed) -> bool {
    told(observed).is_some_and(|told| told.status == Status::True)
}

/// Whether its pods were evicted in an earlier pass.
pub(super) fn is_drained(observed: &Observed) -> bool {
    told(observed).is_some_and(|told| told.reason == Reason::Drained)
}

fn has_timed_out(observed: &Observed, now: Timestamp) -> bool {
    told(observed).is_some_and(|told| {
        told.reason == Reason::DrainTimedOut
            || (told.status == Status::True
                && is_past(
                    drain_limit(observed),
                    Some(told.last_transition_time.0),
                    now,
                ))
    })
}

/// Whether `nodeVolumeDetachTimeoutSeconds` have passed since the end of the drain.
pub fn volumes_have_timed_out(observed: &Observed, now: Timestamp) -> bool {
    let deletion = observed.machine.spec.deletion.as_ref();
    let limit = deletion.and_then(|deletion| deletion.node_volume_detach_timeout_seconds);
    let drained = told(observed).filter(|told| told.reason == Reason::Drained);
    is_past(limit, drained.map(|told| told.last_transition_time.0), now)
}

/// Whether more than `limit` seconds have passed since a time. No limit never expires.
fn is_past(limit: Option<i64>, since: Option<Timestamp>, now: Timestamp) -> bool {
    match (limit, since) {
        (Some(limit), Some(since)) if limit > 0 => {
            now.duration_since(since) >= SignedDuration::from_secs(limit)
        }
        _ => false,
    }
}

fn is_excluded(observed: &Observed) -> bool {
    let annotations = observed.machine.annotations();
    annotations.contains_key(ANNOTATION_EXCLUDE_DRAIN)
}

/// How long a drain may take, in seconds.
fn drain_limit(observed: &Observed) -> Option<i64> {
    let deletion = observed.machine.spec.deletion.as_ref();
    deletion.and_then(|deletion| deletion.node_drain_timeout_seconds)
}

/// Why the Node, which existed, cannot be read; `None` if the deletion does not have to wait for it. A drain that cannot
/// begin has no beginning: its limit counts from the deletion.
pub(super) fn silent_api(observed: &Observed, now: Timestamp) -> Option<&str> {
    let (Lookup::Unknown(why) | Lookup::NotYet(why)) = &observed.node else {
        return None;
    };
    let waits = observed.had_node()
        && !cluster_goes(observed)
        && !is_excluded(observed)
        && !has_timed_out(observed, now)
        && !is_past(drain_limit(observed), deleted_at(observed), now);
    waits.then_some(why)
}

pub(super) fn waiting_for_api(observed: &Observed, what: &str) -> Plan {
    let status = observed.machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref());
    let node = node.and_then(|node| node.name.as_deref()).unwrap_or("NODE");
    let message = format!(
        "{what}. To continue anyway, set spec.deletion.nodeDrainTimeoutSeconds, or at once: {}; Node {node} then stays until you delete it in its cluster: kubectl delete node {node}",
        without_draining(observed)
    );
    Plan {
        next: Next::After(API_AGAIN),
        ..Plan::waiting(deleting(Reason::WaitingForApi, message))
    }
}

/// The command with which the user skips the drain and the wait for volumes.
fn without_draining(observed: &Observed) -> String {
    let Marker {
        namespace, machine, ..
    } = &observed.marker;
    format!("kubectl -n {namespace} annotate machine {machine} {ANNOTATION_EXCLUDE_DRAIN}=")
}

/// The remedy for a drain, or a wait for volumes, on a Node whose kubelet does not answer and so ends no pods.
pub fn unanswered(observed: &Observed, node: &str) -> String {
    format!(
        ". Node {node} does not answer, so this may never end. To release the host without evicting or detaching (the Node is still deleted only on proof): {}",
        without_draining(observed)
    )
}
