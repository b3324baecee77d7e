//! When a plan wants to be made again.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// For how long what a new object lacks is taken to be on its way: people apply what belongs
/// together in any order.
const NEW: SignedDuration = SignedDuration::from_secs(60);

/// For how long yet an object is new; `None` if it is not.
pub fn new_for(metadata: &ObjectMeta, now: Timestamp) -> Option<Duration> {
    let until = metadata.creation_timestamp.as_ref()?.0 + NEW;
    (until > now).then(|| until.duration_since(now).unsigned_abs())
}

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
}
