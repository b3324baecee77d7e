//! A host that a Machine has, and that was not asked in this pass.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::observed::Observed;
use super::{Action, Plan, State, consumer, is_deleted, owned, reset, unavailable};
use crate::api::conditions::{ConditionType, Finding, Reason, find};
use crate::api::installation::WipePolicy;
use crate::node::{Follow, JobKind};
use crate::{Next, claim, pace, remedy};

/// It was not asked in this pass: a unit is followed, or its turn is later.
pub(super) fn not_asked(observed: &Observed, now: Timestamp) -> Plan {
    let again = observed.heard_at.map(|at| at + pace::STANDING);
    let mut plan = match &observed.following {
        Some(follow) => followed(observed, follow),
        None => Plan {
            next: Next::at(again, now),
            ..by_machine(observed)
        },
    };
    if observed.has_its_marker && observed.consumer.exists() && plan.state == State::Claimed {
        let in_use = Finding::yes(ConditionType::Clean, Reason::InUse, "");
        plan.findings.insert(0, in_use);
        let is_reachable = |finding: &Finding| finding.condition == ConditionType::Reachable;
        if observed.heard_at.is_some() && !plan.findings.iter().any(is_reachable) {
            let answers = Finding::yes(ConditionType::Reachable, Reason::Answers, "");
            plan.findings.insert(0, answers);
        }
    }
    plan
}

/// A unit runs on it, and its end wakes us.
fn followed(observed: &Observed, follow: &Follow) -> Plan {
    let unit = follow.job.kind.as_str();
    let far = match &follow.progress {
        Some(at) => format!("{unit}: {}/{} {}", at.index, at.total, at.step),
        None => format!("{unit} starts"),
    };
    let is_released = consumer(observed).is_some_and(|consumer| consumer.releasing);
    let mut plan = match follow.job.kind {
        JobKind::Reset
            if let Some(failure) = follow.failure().filter(|failure| !reset::is_late(failure)) =>
        {
            reset::reset_failed(failure)
        }
        JobKind::Reset if let Some(message) = still_unstarted(observed, follow) => {
            reset::failed(message)
        }
        JobKind::Reset => unavailable(State::Releasing, Reason::Resetting, far),
        kind if let Some(plan) = stopping(observed, kind) => plan,
        _ if is_released => unavailable(
            State::Releasing,
            Reason::WaitingForStep,
            format!(
                "its Machine released it; {} when the step that runs on it has ended: {far}",
                match observed.host.spec.wipe_policy {
                    WipePolicy::Retain => "its kubelet is stopped, and its data kept,",
                    WipePolicy::Reset | WipePolicy::Reinstall => "it is reset",
                }
            ),
        ),
        _ => by_machine(observed),
    };
    if follow.progress.is_some() {
        // it told of the step on the connection on which the unit is followed
        let answers = Finding::yes(ConditionType::Reachable, Reason::Answers, "");
        plan.findings.insert(0, answers);
    }
    plan
}

/// Its Cluster is deleted, and what runs on it waits for that: it is stopped, and the reset
/// follows. Its peers are reset at the same time, and kubeadm would wait for them until its time is
/// up.
pub(super) fn stopping(observed: &Observed, kind: JobKind) -> Option<Plan> {
    let is_released = consumer(observed).is_some_and(|consumer| consumer.releasing);
    let is_meant = is_released && observed.consumer.may_release() && observed.guards.is_none();
    let is_reset = observed.host.spec.wipe_policy == WipePolicy::Reset;
    if !is_meant || !is_reset || !observed.cluster_goes || !kind.needs_cluster() {
        return None;
    }
    let machine = claim::claimant(&observed.host, &observed.management)?;
    let what = kind.title();
    let message = format!("its Cluster is deleted: {what} is stopped on it, and it is reset");
    Some(Plan {
        actions: vec![Action::StopJobs(machine)],
        ..unavailable(State::Releasing, Reason::Resetting, message)
    })
}

/// That a reset could not be started stays until its next attempt has begun.
fn still_unstarted(observed: &Observed, follow: &Follow) -> Option<String> {
    let status = observed.host.status.as_ref()?;
    let said = find(&status.conditions, ConditionType::Available)?;
    let is_kept = follow.progress.is_none() && said.reason == Reason::ResetFailed;
    is_kept.then(|| said.message.clone())
}

/// A Machine has it.
pub(super) fn by_machine(observed: &Observed) -> Plan {
    if !observed.consumer.exists() {
        return owned::abandoned(observed);
    }
    let name = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    let mut message = format!("claimed by Machine {name}");
    if is_deleted(observed) {
        message.push_str("; the Host is removed once that Machine has released it");
    }
    let reason = if observed.host.spec.maintenance {
        let namespace = observed.host.namespace().unwrap_or_default();
        message = format!(
            "{message}; spec.maintenance is true: that Machine stays on it, and no other claims it afterwards. To empty it: {}",
            remedy::machine::delete(&namespace, name)
        );
        Reason::Maintenance
    } else {
        Reason::Claimed
    };
    unavailable(State::Claimed, reason, message)
}
