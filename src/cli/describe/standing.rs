//! The summary of an object: a mark, a short state, and why it is not ready.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;

use tatara_core::api::conditions::{ConditionType, Reason, Severity, Status, find, is_true};
use tatara_core::api::names::ANNOTATION_PAUSED;
use tatara_core::api::readable::unreadable;

/// The mark in front of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Ready.
    Ready,
    /// In progress, or waiting for another object.
    Working,
    /// Failed; action is required.
    Trouble,
    /// Paused.
    Paused,
}

/// The summary of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The mark in front of an object.
    pub mark: Mark,
    /// A phase, or counts such as `1/2 ready`.
    pub state: String,
    /// Further facts, such as its host and version.
    pub facts: Vec<String>,
    /// Reason why it is not ready. Empty if it is.
    pub reason: String,
    /// First line of that reason's message.
    pub message: String,
    /// Since when it is in this state.
    pub since: Option<Timestamp>,
}

/// The part of a summary that depends on the kind.
pub(super) struct KindStanding<'a> {
    /// All its conditions.
    pub conditions: &'a [Condition],
    /// The condition that says why it is not ready.
    pub headline: Option<&'a Condition>,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it failed, whatever the reason.
    pub failed: bool,
    /// A phase, or counts.
    pub state: String,
    /// Further facts.
    pub facts: Vec<String>,
}

/// The summary of an object, from the part that depends on its kind.
pub(super) fn stand(object: &impl Resource, judged: KindStanding<'_>) -> Standing {
    let meta = object.meta();
    let created = meta.creation_timestamp.as_ref().map(|time| time.0);
    let deleted = meta.deletion_timestamp.as_ref().map(|time| time.0);
    let paused =
        find(judged.conditions, ConditionType::Paused).filter(|c| c.status == Status::True);
    let is_paused = is_true(judged.conditions, ConditionType::Paused)
        || meta
            .annotations
            .iter()
            .any(|all| all.contains_key(ANNOTATION_PAUSED));
    let ready = judged.ready && deleted.is_none();
    let why = if is_paused {
        paused
    } else {
        judged.headline.filter(|_| !ready)
    };
    let reason = why.map_or("", |c| c.reason.as_str());
    let mark = if is_paused {
        Mark::Paused
    } else if ready {
        Mark::Ready
    } else if judged.failed || is_trouble(reason) {
        Mark::Trouble
    } else {
        Mark::Working
    };
    let message = match (why, mark) {
        (Some(condition), _) => first_line(&condition.message),
        (None, Mark::Paused) => format!("annotation {ANNOTATION_PAUSED}"),
        (None, Mark::Ready) => String::new(),
        (None, _) => "no controller has reported a condition yet".into(),
    };
    let transition = why.or(judged.headline).map(|c| c.last_transition_time.0);
    let (mark, reason, message) = match unreadable(object) {
        Some(why) => (Mark::Trouble, Reason::Unreadable.as_str(), first_line(why)),
        None => (mark, reason, message),
    };
    Standing {
        mark,
        state: match deleted {
            Some(_) => "Deleting".into(),
            None if judged.state.is_empty() => "New".into(),
            None => judged.state,
        },
        facts: judged.facts,
        reason: reason.to_owned(),
        message,
        since: transition.or(deleted).or(created),
    }
}

/// Whether a reason requires action. A reason unknown to this release does not.
pub(super) fn is_trouble(reason: &str) -> bool {
    Reason::parse(reason).is_some_and(|reason| reason.severity() == Severity::Warning)
}

fn first_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}
