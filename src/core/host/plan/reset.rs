//! A host that was released, and is reset: what its Machine made is undone.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Action, Plan, State, TRY_AGAIN, claimed, unavailable};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::node::{
    DECIDED_LATE, DECIDED_STEP, Failure, JobKind, Observation, Owner, UnitState, UnitStatus,
};
use crate::core::{Next, backoff};

/// A kubeadm that makes a node there, and that nobody follows, decides by what it makes whether the host may be reset, or lose its
/// power.
pub fn waits(seen: &Observation, owner: &Owner) -> Option<Plan> {
    let makes_node = |kind: &JobKind| matches!(kind, JobKind::Init | JobKind::Join);
    let kind = seen.running(&owner.marker).find(makes_node)?;
    let message = format!(
        "its Machine released it; it is judged again when {} has ended, which runs on it",
        kind.title()
    );
    let next = Next::After(TRY_AGAIN);
    let mut plan = unavailable(State::Releasing, Reason::WaitingForStep, message, next);
    plan.findings.insert(0, not_clean());
    Some(plan)
}

fn not_clean() -> Finding {
    let message = "what its Machine left is removed before it is free";
    Finding::no(ConditionType::Clean, Reason::NotResetYet, message)
}

/// The reset, unless something is waited for.
pub fn plan(observed: &Observed, seen: &Observation, owner: &Owner, now: Timestamp) -> Plan {
    let mut stopping = seen
        .running(&owner.marker)
        .map(|kind| claimed::stopping(observed, kind));
    if let Some(plan) = stopping.find_map(|plan| plan) {
        return plan;
    }
    let is_under_way = seen
        .running(&owner.marker)
        .any(|kind| kind == JobKind::Reset);
    if let Some(plan) = waits(seen, owner).filter(|_| !is_under_way) {
        return plan;
    }
    let acting = |plan| Plan {
        actions: vec![Action::Reset(owner.marker.clone())],
        next: Next::OnChange,
        ..plan
    };
    let go = |message: String| {
        acting(unavailable(
            State::Releasing,
            Reason::Resetting,
            message,
            Next::OnChange,
        ))
    };
    // tried again after a pause that grows
    let again = |plan| {
        let attempts = &observed.attempts;
        let jitter = backoff::jitter(&owner.marker.uid);
        let wait = backoff::left(attempts.failed, jitter, attempts.last, now);
        if wait.is_zero() {
            return acting(plan);
        }
        Plan {
            next: Next::After(wait),
            ..plan
        }
    };
    let status = seen.job(&owner.marker.job(JobKind::Reset));
    let (failure, late) = match status.and_then(UnitStatus::failure) {
        Some(failure) if is_late(failure) => (None, true),
        failure => (failure, false),
    };
    let unstarted = observed.attempts.unstarted("reset");
    let mut plan = match status.map(|status| &status.state) {
        Some(UnitState::Running(_)) if let Some(failure) = failure => acting(reset_failed(failure)),
        Some(UnitState::Running(at)) => go(format!("reset: {}/{} {}", at.index, at.total, at.step)),
        Some(UnitState::Succeeded) => {
            go("the reset succeeded, but the marker still exists; starting the reset again".into())
        }
        _ if let Some(message) = unstarted => again(failed(message)),
        _ if let Some(failure) = failure => again(reset_failed(failure)),
        Some(UnitState::Interrupted(at)) => {
            let message = at.interrupted("reset");
            if observed.attempts.failed == 0 {
                go(message)
            } else {
                again(failed(message))
            }
        }
        Some(UnitState::Failed(_)) if late => again(decided_again(observed.attempts.failed)),
        Some(UnitState::Failed(_)) | None => go("reset starts".into()),
    };
    plan.findings.insert(0, not_clean());
    plan
}

/// Kubeadm has run since that reset was decided on. It has undone nothing, and is decided again by what is there now.
pub(super) fn is_late(failure: &Failure) -> bool {
    failure.at.step == DECIDED_STEP && failure.exit_code == DECIDED_LATE
}

/// No trouble, unless it is so again and again: then something on the host keeps changing what is compared.
fn decided_again(failed: u32) -> Plan {
    const TROUBLE: u32 = 3;
    let why = "kubeadm ran on it after its reset was decided on";
    if failed < TROUBLE {
        let message = format!("{why}; the reset starts again");
        let next = Next::OnChange;
        return unavailable(State::Releasing, Reason::Resetting, message, next);
    }
    self::failed(format!(
        "{why}, {failed} times in a row. On the host, stop what runs kubeadm, or what writes to /var/lib/tatara/machines: ls -l --full-time /var/lib/tatara/machines/*/{{init,join}}"
    ))
}

/// A step of the reset failed and has not succeeded since.
pub(super) fn reset_failed(failure: &Failure) -> Plan {
    failed(failure.message())
}

pub(super) fn failed(message: String) -> Plan {
    unavailable(
        State::Quarantined,
        Reason::ResetFailed,
        message,
        Next::OnChange,
    )
}
