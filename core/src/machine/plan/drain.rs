//! The drain of the Node of a Machine that is being deleted, or whose kubelet is replaced: when
//! there is one, how long it may last, and what is reported of it in condition `Draining`. Its time
//! limit counts from the beginning of the drain, which the condition records.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Lookup, Observed};
use super::super::own_node;
use super::deletion::{cluster_goes, deleted_at, deleting};
use super::{Action, Plan};
use crate::NodeView;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Status};
use crate::api::names::{ANNOTATION_EXCLUDE_DRAIN, ANNOTATION_HOST_IS_GONE};
use crate::remedy;

/// Puts the drain and the wait for volumes before a release, each waiting for the one before.
/// Nothing is drained without a Node, when the whole cluster goes, when the user excluded it, and
/// after its time limit.
pub(super) fn first(observed: &Observed, release: Plan, now: Timestamp) -> Plan {
    if !is_due(observed) {
        return skipped(observed, release);
    }
    if has_timed_out(observed, now) {
        return timed_out(observed, release);
    }
    if let Lookup::Unknown(why) | Lookup::NotYet(why) = &observed.node {
        if is_drained(observed) && has_waited_after(observed, now) {
            return release;
        }
        let state = format!("the Node cannot be drained: {why}");
        let mut plan = waiting_for_api(
            observed,
            &state,
            "its pods then end without eviction, volumes are not waited for, and ",
        );
        if is_drained(observed) {
            return plan;
        }
        // it begins with the first attempt, so that its time limit ends the silence
        plan.findings.push(Finding::yes(
            ConditionType::Draining,
            Reason::WaitingForApi,
            why.clone(),
        ));
        return plan;
    }
    let Some(node) = observed.known_node() else {
        return skipped(observed, release);
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
        ..Plan::default()
    }
}

/// Whether the pods of a Machine that is let go of are to be evicted.
fn is_due(observed: &Observed) -> bool {
    is_due_but_for_exclusion(observed) && !is_excluded(observed)
}

/// Whether they would be, if the user did not exclude that.
pub(super) fn is_due_but_for_exclusion(observed: &Observed) -> bool {
    let may_have_node = match &observed.node {
        Lookup::Known(node) => node.is_some(),
        Lookup::Unknown(_) | Lookup::NotYet(_) => {
            observed.had_node() || !observed.contested.is_empty()
        }
    };
    may_have_node && !cluster_goes(observed)
}

/// The drain before the kubelet of a Machine is replaced: what is done, and what is reported of it.
/// Where no other Node takes pods, where the user excluded it, and of a Node whose kubelet ends no
/// pods, nothing is drained.
pub(super) fn before_update(
    observed: &Observed,
    node: &NodeView,
    now: Timestamp,
) -> (Option<Action>, Option<Finding>) {
    let cluster = observed.cluster.as_ref();
    let has_place = cluster.is_some_and(|cluster| cluster.peers.take_pods);
    let why = if is_excluded(observed) {
        Some(format!("annotation {ANNOTATION_EXCLUDE_DRAIN}"))
    } else if node.is_unreachable() {
        Some("its kubelet does not answer".to_owned())
    } else if !has_place && (!node.unschedulable || node.is_cordoned_by_us()) {
        // also while it is drained: a Node that takes pods may wait for the end of this update
        // before it joins
        Some("no other Node takes pods".to_owned())
    } else {
        None
    };
    if let Some(why) = why {
        let message = format!(
            "the pods of Node {} are not evicted ({why}); they keep running while its kubelet starts anew",
            node.name
        );
        return (None, Some(over(Reason::DrainSkipped, message)));
    }
    if has_timed_out(observed, now) {
        let limit = self::limit(observed).unwrap_or_default();
        let message = format!(
            "the drain was ended by nodeDrainTimeoutSeconds ({limit} s){}. Pods that are left keep running while the kubelet is replaced",
            left(observed, "then")
        );
        return (None, Some(over(Reason::DrainTimedOut, message)));
    }
    let message = format!("evicting the pods of Node {}", node.name);
    let action = Action::Drain {
        node: node.name.clone(),
        uid: node.uid.clone(),
    };
    let finding = Finding::yes(ConditionType::Draining, Reason::Draining, message);
    (Some(action), Some(finding))
}

/// Reports that a drain which was begun is skipped.
pub(super) fn skipped(observed: &Observed, mut plan: Plan) -> Plan {
    if is_under_way(observed) {
        let why = if observed.user_says_gone().is_some() {
            format!("annotation {ANNOTATION_HOST_IS_GONE}")
        } else if is_excluded(observed) {
            format!("annotation {ANNOTATION_EXCLUDE_DRAIN}")
        } else if cluster_goes(observed) {
            "the whole Cluster is being deleted".to_owned()
        } else {
            "its Node no longer exists".to_owned()
        };
        let message = format!(
            "the drain was ended early ({why}){}",
            left(observed, "when it was")
        );
        plan.findings.push(over(Reason::DrainSkipped, message));
    }
    plan
}

fn timed_out(observed: &Observed, mut plan: Plan) -> Plan {
    if is_under_way(observed) {
        let limit = self::limit(observed).unwrap_or_default();
        let message = format!(
            "the drain was ended by nodeDrainTimeoutSeconds ({limit} s){}. Pods that are left end with the release of the machine, which waits for no volume",
            left(observed, "then")
        );
        plan.findings.push(over(Reason::DrainTimedOut, message));
    }
    plan
}

/// There is no drain, or none any more.
fn over(reason: Reason, message: impl Into<String>) -> Finding {
    Finding::no(ConditionType::Draining, reason, message)
}

/// What the drain last waited for, without its remedy.
fn left(observed: &Observed, when: &str) -> String {
    let said = told(observed).map_or("", |told| told.message.as_str());
    let said = said.split(". ").next().unwrap_or_default();
    match said.trim_end_matches('.') {
        "" => String::new(),
        said => format!("; {when}: {said}"),
    }
}

/// Reports that a drain is over, of a Machine that was let go of.
pub(super) fn ended(observed: &Observed, mut plan: Plan) -> Plan {
    if is_under_way(observed) {
        plan.findings.push(over(Reason::Drained, ""));
    }
    plan
}

/// What the manager reads again in a moment: a drain that it interrupts goes on with the time that
/// it has.
const PASSING: [Reason; 6] = [
    Reason::EtcdUnreachable,
    Reason::MemberChanging,
    Reason::MemberUnknown,
    Reason::QuorumAtRisk,
    Reason::TooFewMembersAnswer,
    Reason::WaitingForApi,
];

/// Reports that a drain which was begun does not go on for now. Its time limit counts anew when it
/// does.
pub(super) fn suspended(observed: &Observed, plan: &mut Plan) {
    let drains = |action: &Action| matches!(action, Action::Drain { .. });
    let is_told = |finding: &Finding| {
        finding.condition == ConditionType::Draining || PASSING.contains(&finding.reason())
    };
    let goes_on = plan.actions.iter().any(drains) || plan.findings.iter().any(is_told);
    if observed.is_deleting() && is_under_way(observed) && !goes_on {
        let message = "interrupted; it begins again when the deletion goes on";
        plan.findings.push(over(Reason::DrainStopped, message));
    }
}

/// Makes the Node of a Machine that stays schedulable again, if it was cordoned by Tatara.
pub(super) fn undo(observed: &Observed, plan: &mut Plan) {
    let node = observed.known_node();
    let ours = node.filter(|node| node.is_cordoned_by_us());
    if let Some(node) = ours {
        plan.actions.push(Action::UncordonNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    if told(observed).is_some_and(|told| told.reason != Reason::DrainStopped) {
        let message = match node {
            Some(node) if ours.is_none() && node.unschedulable => format!(
                "this Machine stays. Its Node was not cordoned by Tatara, and stays so; to undo that: {}",
                remedy::workload::uncordon_node(
                    &observed.marker.namespace,
                    &observed.marker.cluster,
                    &node.name
                )
            ),
            _ => "this Machine stays, and its Node takes pods again".to_owned(),
        };
        plan.findings.push(over(Reason::DrainStopped, message));
    }
}

/// Completes a plan by what was found while acting: what follows the drain waits, so that is over.
pub(super) fn learned(plan: &mut Plan, found: &Finding) {
    let drains = |action: &Action| matches!(action, Action::Drain { .. });
    let draining = |finding: &Finding| {
        finding.condition == ConditionType::Draining && finding.status == Status::True
    };
    let is_later = found.condition != ConditionType::Draining;
    if is_later && plan.actions.iter().any(drains) && plan.findings.iter().any(draining) {
        plan.findings.retain(|finding| !draining(finding));
        // another is drained before it: nothing of its drain was begun
        if found.reason() != Reason::WaitingForTurn {
            plan.findings.push(over(Reason::Drained, ""));
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
        .find(|f| f.condition == ConditionType::Deleting && f.reason() == Reason::Draining);
    if let (Some(draining), Some(waits)) = (draining, waits) {
        waits.why = draining.why;
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
    told(observed).is_some_and(has_ended)
}

/// Whether it says that all pods were evicted that had to be.
fn has_ended(told: &Condition) -> bool {
    told.status == Status::False
        && [
            Reason::Drained,
            Reason::PodsUnconfirmed,
            Reason::VolumeDetachTimedOut,
        ]
        .iter()
        .any(|reason| told.reason == *reason)
}

fn has_timed_out(observed: &Observed, now: Timestamp) -> bool {
    told(observed).is_some_and(|told| {
        let since = told.last_transition_time.0;
        // what a drain for an update took is not the deletion's
        let deleted = deleted_at(observed);
        let is_own = deleted.is_none_or(|deleted| deleted <= since);
        (told.reason == Reason::DrainTimedOut && is_own)
            || (told.status == Status::True
                && is_past(limit(observed), deleted.max(Some(since)), now))
    })
}

/// Whether `nodeVolumeDetachTimeoutSeconds` have passed since the end of the drain.
pub fn volumes_have_timed_out(observed: &Observed, now: Timestamp) -> bool {
    let deletion = observed.machine.spec.deletion.as_ref();
    let limit = deletion.and_then(|deletion| deletion.node_volume_detach_timeout_seconds);
    let drained = told(observed).filter(|told| has_ended(told));
    is_past(limit, drained.map(|told| told.last_transition_time.0), now)
}

/// Whether one of the two limits has passed since the end of the drain: for a silence that came
/// after it.
fn has_waited_after(observed: &Observed, now: Timestamp) -> bool {
    let drained = told(observed).map(|told| told.last_transition_time.0);
    volumes_have_timed_out(observed, now) || is_past(limit(observed), drained, now)
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
pub(super) fn limit(observed: &Observed) -> Option<i64> {
    let deletion = observed.machine.spec.deletion.as_ref();
    deletion.and_then(|deletion| deletion.node_drain_timeout_seconds)
}

/// Why the Node, which existed, cannot be read, and so not deleted; `None` if the deletion does not
/// have to wait for it. By then nothing of the Machine runs, and the limit counts from its
/// deletion.
pub(super) fn silent_api(observed: &Observed, now: Timestamp) -> Option<&str> {
    let (Lookup::Unknown(why) | Lookup::NotYet(why)) = &observed.node else {
        return None;
    };
    let is_over = is_past(limit(observed), deleted_at(observed), now);
    (is_due(observed) && !is_over).then_some(why)
}

/// The API of the cluster is waited for; `costs` is what it costs not to wait, beside the Node that
/// stays.
pub(super) fn waiting_for_api(observed: &Observed, state: &str, costs: &str) -> Plan {
    let status = observed.machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref());
    let node = node.and_then(|node| node.name.as_deref()).unwrap_or("NODE");
    let marker = &observed.marker;
    let delete = remedy::workload::delete_node(&marker.namespace, &marker.cluster, node);
    let reason = own_node::unknown(observed, Reason::WaitingForApi);
    let message = format!(
        "{state}. Restore that API first: {}. Only if this Machine has to go before that: spec.deletion.nodeDrainTimeoutSeconds, or at once: {} ({costs}Node {node} stays until you delete it: {delete})",
        remedy::describe_cluster(&marker.namespace, &marker.cluster),
        without_draining(observed)
    );
    Plan::waiting(deleting(reason, message))
}

/// The command with which the user skips the drain and the wait for volumes.
pub(super) fn without_draining(observed: &Observed) -> String {
    let marker = &observed.marker;
    remedy::machine::skip_drain(&marker.namespace, &marker.machine)
}
