//! A job on the host of a Machine, as its plan starts and follows it, and what is said of it: of
//! the way to a Node, and others put their own condition in the place of that.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Action, Plan};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason, find};
use crate::node::{
    self, Attempt, Failure, Follow, JobKind, Observation, PlannedUnit, Progress, Setback, Wanted,
};

/// The job of this kind, whatever its steps are.
pub(super) fn of_kind(observed: &Observed, kind: JobKind) -> Wanted<'static> {
    Wanted {
        job: observed.marker.job(kind),
        identity: None,
    }
}

/// The job with the steps of this unit.
pub(super) fn of_unit<'a>(observed: &Observed, unit: &'a PlannedUnit) -> Wanted<'a> {
    Wanted {
        job: observed.marker.job(unit.kind),
        identity: Some(&unit.identity),
    }
}

/// What is done next about this job, by what its host shows.
pub(super) fn next<'a>(
    observed: &Observed,
    seen: &'a Observation,
    unit: &Wanted<'_>,
    now: Timestamp,
) -> Attempt<'a> {
    let attempts = observed.attempts(unit.job.kind);
    Attempt::next(seen.job(&unit.job), unit, &attempts, now)
}

/// The same, also where the job has succeeded.
pub(super) fn afresh<'a>(
    observed: &Observed,
    seen: &'a Observation,
    unit: &Wanted<'_>,
    now: Timestamp,
) -> Attempt<'a> {
    let attempts = observed.attempts(unit.job.kind);
    Attempt::afresh(seen.job(&unit.job), unit, &attempts, now)
}

/// Whether it runs or has succeeded, whatever its steps are: it is not started now.
pub(super) fn runs_or_ran(observed: &Observed, seen: &Observation, kind: JobKind) -> bool {
    let status = seen.job(&observed.marker.job(kind));
    status.is_some_and(|status| status.is_running() || status.has_succeeded())
}

/// Starts a job, attaches to it, or waits before it is tried again; `None` where it has succeeded.
/// A step that failed stays the finding until it has succeeded, also while it is tried again.
/// `starts`: what is said where nothing went wrong before.
pub(super) fn plan(
    kind: JobKind,
    attempt: &Attempt<'_>,
    starts: impl FnOnce() -> Finding,
) -> Option<Plan> {
    let act = |finding| Plan::act(Action::RunJob(kind), finding);
    Some(match attempt {
        Attempt::Done => return None,
        Attempt::Attach { at, failure } => {
            act(failure.map_or_else(|| runs(kind, at), |failure| failed(kind, failure)))
        }
        Attempt::Start(None) => act(starts()),
        Attempt::Start(Some(setback)) => act(told(kind, setback)),
        Attempt::Wait(wait, setback) => Plan {
            next: Next::After(*wait),
            ..Plan::waiting(told(kind, setback))
        },
    })
}

/// Reports the progress of this job.
pub(super) fn followed(observed: &Observed, follow: &Follow) -> Plan {
    if let Some(failure) = follow.failure() {
        return Plan::waiting(failed(follow.job.kind, failure));
    }
    Plan::waiting(match &follow.progress {
        Some(at) => runs(follow.job.kind, at),
        None => starts(observed, follow.job.kind),
    })
}

/// A job is being started. That it failed before, or could not be started, is reported until its
/// next attempt has begun.
pub(super) fn starts(observed: &Observed, kind: JobKind) -> Finding {
    let status = observed.machine.status.as_ref();
    let said = status.and_then(|status| find(&status.conditions, kind.condition()));
    match said.filter(|said| said.reason == kind.failed()) {
        Some(said) => not(kind.failed(), said.message.clone()),
        None => begins(kind),
    }
}

/// A job is being started, and nothing that was said before is about it.
pub(super) fn begins(kind: JobKind) -> Finding {
    not(kind.running(), format!("{} starts", kind.title()))
}

/// Starts a job, attaches to it, or waits before it is tried again, as long as it has not
/// succeeded.
pub(super) fn unfinished(
    observed: &Observed,
    seen: &Observation,
    kind: JobKind,
    now: Timestamp,
) -> Option<Plan> {
    let attempt = next(observed, seen, &of_kind(observed, kind), now);
    plan(kind, &attempt, || starts(observed, kind))
}

fn runs(kind: JobKind, at: &Progress) -> Finding {
    let message = format!("{}/{} {}", at.index, at.total, at.step);
    not(kind.running(), message)
}

fn told(kind: JobKind, setback: &Setback<'_>) -> Finding {
    match setback {
        Setback::Unstarted(message) => not(kind.failed(), message.clone()),
        Setback::Failed(failure) => failed(kind, failure),
        Setback::Interrupted { at, again } => {
            let reason = if *again {
                kind.failed()
            } else {
                kind.running()
            };
            not(reason, at.interrupted(kind.title()))
        }
    }
}

/// A step failed and has not succeeded since.
fn failed(kind: JobKind, failure: &Failure) -> Finding {
    let reason = match failure.at.step.as_str() {
        node::POST_KUBEADM => Reason::PostKubeadmCommandsFailed,
        _ => kind.failed(),
    };
    not(reason, failure.message())
}

fn not(reason: Reason, message: String) -> Finding {
    Finding::no(ConditionType::BootstrapReady, reason, message)
}
