//! What is done next about a job on a host: one answer for all of them, from what the host shows of
//! the job and how its attempts ended. What follows from its success, and what is told of its
//! failure, is the caller's.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::event::{Failure, Progress, UnitState, UnitStatus};
use super::follow::Attempts;
use super::job::Job;
use crate::backoff;

/// A job that a plan wants to have succeeded.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Which job.
    pub job: Job,
    /// [`super::Unit::identity`] of its steps. Without one it is this job whatever its steps were.
    pub identity: Option<&'a str>,
}

impl Wanted<'_> {
    /// Whether it has succeeded, with these steps.
    pub fn is_done(&self, status: Option<&UnitStatus>) -> bool {
        status.is_some_and(|status| self.has_steps(status) && status.has_succeeded())
    }

    fn has_steps(&self, status: &UnitStatus) -> bool {
        self.identity
            .is_none_or(|identity| status.identity == identity)
    }
}

/// What is done next about a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Attempt<'a> {
    /// It is started now.
    Start(Option<Setback<'a>>),
    /// It runs, and is followed.
    Attach {
        /// The step that runs.
        at: &'a Progress,
        /// The step that failed in an attempt before, and has not succeeded since.
        failure: Option<&'a Failure>,
    },
    /// It is started after this time.
    Wait(Duration, Setback<'a>),
    /// It has succeeded.
    Done,
}

/// Why a job has to be tried again.
#[derive(Clone, Debug, PartialEq)]
pub enum Setback<'a> {
    /// It could not be started: a message for people.
    Unstarted(String),
    /// This step failed, and has not succeeded since.
    Failed(&'a Failure),
    /// It was interrupted in this step.
    Interrupted {
        /// The step.
        at: &'a Progress,
        /// An attempt had failed, or was interrupted, before.
        again: bool,
    },
}

impl<'a> Attempt<'a> {
    /// What is done next about this job, of which the host shows this status. A job that runs comes
    /// to its end, whatever its steps are. How one with other steps has ended says nothing of
    /// these; that nothing can be started on the host does.
    pub fn next(
        status: Option<&'a UnitStatus>,
        unit: &Wanted<'_>,
        attempts: &Attempts,
        now: Timestamp,
    ) -> Self {
        let status = status.filter(|status| status.is_running() || unit.has_steps(status));
        let setback = match status.map(|status| &status.state) {
            Some(UnitState::Running(at)) => {
                let failure = status.and_then(UnitStatus::failure);
                return Self::Attach { at, failure };
            }
            Some(UnitState::Succeeded) => return Self::Done,
            _ => Setback::of(status, unit, attempts),
        };
        let Some(setback) = setback else {
            return Self::Start(None);
        };
        let jitter = backoff::jitter(&unit.job.key);
        let wait = backoff::left(attempts.failed, jitter, attempts.last, now);
        if wait.is_zero() {
            Self::Start(Some(setback))
        } else {
            Self::Wait(wait, setback)
        }
    }

    /// As [`Self::next`], also where the job has succeeded: what it did was undone since. Never
    /// [`Self::Done`].
    pub fn afresh(
        status: Option<&'a UnitStatus>,
        unit: &Wanted<'_>,
        attempts: &Attempts,
        now: Timestamp,
    ) -> Self {
        let status = status.filter(|status| !status.has_succeeded());
        Self::next(status, unit, attempts, now)
    }
}

impl<'a> Setback<'a> {
    /// Of a job that neither runs nor has succeeded.
    fn of(status: Option<&'a UnitStatus>, unit: &Wanted<'_>, attempts: &Attempts) -> Option<Self> {
        if let Some(why) = attempts.unstarted(unit.job.kind.title()) {
            return Some(Self::Unstarted(why));
        }
        let status = status?;
        if let Some(failure) = status.failure() {
            return Some(Self::Failed(failure));
        }
        match &status.state {
            UnitState::Interrupted(at) => Some(Self::Interrupted {
                at,
                again: attempts.failed > 0,
            }),
            UnitState::Running(_) | UnitState::Succeeded | UnitState::Failed(_) => None,
        }
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
