//! How far a unit is, and how often it failed.

use k8s_openapi::jiff::Timestamp;

use super::{Cause, Failure, Job, Progress, event};

/// A unit that is followed, or that ended while it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Follow {
    /// Which job.
    pub job: Job,
    /// The step that runs, once the host has said so.
    pub progress: Option<Progress>,
    /// Since when.
    pub since: Timestamp,
    /// The step that had failed before, when this attempt began.
    pub retried: Option<Box<Failure>>,
}

impl Follow {
    /// The step that failed before, as long as this attempt has not come past it.
    pub fn failure(&self) -> Option<&Failure> {
        let failure = self.retried.as_deref()?;
        let step = self.progress.as_ref().map_or(0, |at| at.index);
        (step <= failure.at.index).then_some(failure)
    }
}

/// Failures of a unit in a row, kept in memory: a restart tries again at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// How many in a row.
    pub failed: u32,
    /// When the first one ended.
    pub since: Option<Timestamp>,
    /// When the last one ended.
    pub last: Option<Timestamp>,
    /// What was wrong, where the host keeps no record of it.
    pub error: Option<String>,
}

impl Attempts {
    /// The count after one more failure.
    #[must_use]
    pub fn and(&self, error: Option<String>, now: Timestamp) -> Self {
        Self {
            failed: self.failed.saturating_add(1),
            since: self.since.or(Some(now)),
            last: Some(now),
            error,
        }
    }

    /// Why a unit could not be started, where that is what failed last; causes first.
    pub fn unstarted(&self, what: &str) -> Option<String> {
        let error = self.error.as_ref()?;
        let standing = event::attempts(self.failed, self.since);
        let causes = Cause::read(error.lines());
        Some(if causes.is_empty() {
            format!("{what} could not be started{standing}: {error}")
        } else {
            let causes = Cause::text(&causes);
            format!("{causes} {what} could not be started{standing}")
        })
    }

    /// Ends the back-off after the last failure. The back-off after the next one is longer.
    pub fn at_once(&mut self) {
        self.last = None;
    }
}
