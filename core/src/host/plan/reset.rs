//! A host that was released, and is reset: what its Machine made is undone.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Action, Plan, State, claimed, unavailable};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::node::{
    Attempt, DECIDED_LATE, DECIDED_STEP, Failure, JobKind, Observation, Owner, Progress, Setback,
    UnitState, UnitStatus, Wanted,
};

/// A kubeadm that makes a node there, and that nobody follows, decides by what it makes whether the
/// host may be reset, or lose its power.
pub fn waits(seen: &Observation, owner: &Owner) -> Option<Plan> {
    let makes_node = |kind: &JobKind| matches!(kind, JobKind::Init | JobKind::Join);
    let kind = seen.running(&owner.marker).find(makes_node)?;
    let message = format!(
        "its Machine released it; it is judged again when {} has ended, which runs on it",
        kind.title()
    );
    let mut plan = unavailable(State::Releasing, Reason::WaitingForStep, message);
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
        ..plan
    };
    let go = |message: String| acting(resetting(message));
    let wanted = Wanted {
        job: owner.marker.job(JobKind::Reset),
        identity: None,
    };
    let status = seen.job(&wanted.job);
    let mut plan = match Attempt::afresh(status, &wanted, &observed.attempts, now) {
        Attempt::Attach { failure, .. }
            if let Some(failure) = failure.filter(|one| !is_late(one)) =>
        {
            acting(reset_failed(failure))
        }
        Attempt::Attach { at, .. } => go(format!("reset: {}/{} {}", at.index, at.total, at.step)),
        Attempt::Start(Some(setback)) => acting(told(observed, status, &setback)),
        Attempt::Wait(wait, setback) => Plan {
            next: Next::After(wait),
            ..told(observed, status, &setback)
        },
        Attempt::Start(None) | Attempt::Done if status.is_some() => {
            go("the reset succeeded, but the marker still exists; starting the reset again".into())
        }
        Attempt::Start(None) | Attempt::Done => go("reset starts".into()),
    };
    plan.findings.insert(0, not_clean());
    plan
}

/// Why it is tried again.
fn told(observed: &Observed, status: Option<&UnitStatus>, setback: &Setback<'_>) -> Plan {
    let failed_before = observed.attempts.failed > 0;
    let interrupted = |at: &Progress, again| {
        let message = at.interrupted("reset");
        if again {
            failed(message)
        } else {
            resetting(message)
        }
    };
    match setback {
        Setback::Unstarted(message) => failed(message.clone()),
        Setback::Failed(failure) if is_late(failure) => match status.map(|status| &status.state) {
            Some(UnitState::Interrupted(at)) => interrupted(at, failed_before),
            _ => decided_again(observed.attempts.failed),
        },
        Setback::Failed(failure) => reset_failed(failure),
        Setback::Interrupted { at, again } => interrupted(at, *again),
    }
}

fn resetting(message: String) -> Plan {
    unavailable(State::Releasing, Reason::Resetting, message)
}

/// Kubeadm has run since that reset was decided on. It has undone nothing, and is decided again by
/// what is there now.
pub(super) fn is_late(failure: &Failure) -> bool {
    failure.at.step == DECIDED_STEP && failure.exit_code == DECIDED_LATE
}

/// No trouble, unless it is so again and again: then something on the host keeps changing what is
/// compared.
fn decided_again(failed: u32) -> Plan {
    const TROUBLE: u32 = 3;
    let why = "kubeadm ran on it after its reset was decided on";
    if failed < TROUBLE {
        return resetting(format!("{why}; the reset starts again"));
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
    unavailable(State::Quarantined, Reason::ResetFailed, message)
}
