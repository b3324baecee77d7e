//! One folder per kind; each reads observe, plan, execute, report.

pub mod backoff;
pub mod claims;
mod error;
mod failures;
mod letters;
pub mod patch;
pub mod paused;
pub mod proof;
pub mod unreadable;

pub mod cluster;
pub mod cluster_profile;
pub mod credential;
pub mod host;
pub mod hypervisor;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_set;
pub mod whose;

pub use error::{Chain, ReconcileError};
pub use failures::Failures;

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::runtime::controller::Action;

/// When a plan wants to be made again, beside on every change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum Next {
    /// Only when something changes.
    #[default]
    OnChange,
    /// At the latest after this time.
    After(Duration),
}

impl Next {
    /// The sooner of two.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::OnChange, other) => other,
            (this, Self::OnChange) => this,
            (Self::After(a), Self::After(b)) => Self::After(a.min(b)),
        }
    }

    /// At this time, if any.
    pub fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        let left = |time: Timestamp| {
            time.duration_since(now)
                .max(SignedDuration::ZERO)
                .unsigned_abs()
        };
        time.map_or(Self::OnChange, |time| Self::After(left(time)))
    }

    /// As kube's runtime takes it.
    pub fn action(self) -> Action {
        match self {
            Self::OnChange => Action::await_change(),
            Self::After(delay) => Action::requeue(delay),
        }
    }
}
