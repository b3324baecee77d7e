//! What is remembered of a Cluster between passes: it saves requests, and is no progress.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::access::Told;
use super::input::{Input, Server};
use crate::core::cluster::health::Verdict;

/// How often a member is asked for its properties again. Profiles are to be written less than once in
/// 30 s (KEP-4322), and properties are no readings.
const REFRESH: SignedDuration = SignedDuration::from_mins(5);
/// Namespace and name of a Cluster.
pub(super) type Name = (String, String);

/// What was seen and done for a Cluster.
#[derive(Clone, Default)]
pub(super) struct Remembered {
    /// What the last pass was given that found nothing left to do.
    pub(super) settled: Option<Given>,
    /// When the member last told everything.
    pub(super) told_at: Option<Timestamp>,
    /// What it told.
    pub(super) told: Told,
    /// resourceVersions of the profiles when nothing was left to do, by namespace.
    pub(super) versions: BTreeMap<String, String>,
}

/// The part of the input that decides what is published.
#[derive(Clone, PartialEq)]
pub(super) struct Given {
    pub(super) uid: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) namespaces: Vec<String>,
    pub(super) forbidden: Vec<String>,
    pub(super) server: Result<Server, String>,
    pub(super) verdict: Verdict,
    pub(super) version: Option<String>,
    pub(super) has_member: bool,
}

impl Given {
    pub(super) fn of(input: &Input) -> Self {
        Self {
            uid: input.cluster.uid(),
            labels: input.cluster.labels().clone(),
            namespaces: input.namespaces.clone(),
            forbidden: input.forbidden.clone(),
            server: input.server.clone(),
            verdict: input.verdict,
            version: input.version.clone(),
            has_member: input.member.is_some(),
        }
    }
}

impl Remembered {
    /// Whether nothing was left to do for the same input, and there is nothing to ask.
    pub(super) fn is_settled(&self, given: &Given, now: Timestamp) -> bool {
        self.settled.as_ref() == Some(given) && !self.is_due(given, now)
    }

    /// Whether the member is to be asked: what it told is old, and it can be expected to answer.
    pub(super) fn is_due(&self, given: &Given, now: Timestamp) -> bool {
        let is_old = self
            .told_at
            .is_none_or(|at| now.duration_since(at) >= REFRESH);
        is_old && given.has_member && given.server.is_ok() && given.verdict != Verdict::Unhealthy
    }

    /// When what the member told is old.
    pub(super) fn refresh_in(&self, now: Timestamp) -> Option<Duration> {
        let left = REFRESH - now.duration_since(self.told_at?);
        Some(left.max(SignedDuration::ZERO).unsigned_abs())
    }
}
