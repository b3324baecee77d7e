//! How any object stands: a mark, a short state, and why it is not ready.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;

use crate::api::conditions::{ConditionType, Reason, Severity, Status, find, is_true};
use crate::api::names::ANNOTATION_PAUSED;
use crate::api::readable::unreadable;

/// The first thing that people look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is as it shall be.
    Ready,
    /// It is on its way, or waits for another.
    Working,
    /// It failed, and somebody should look at it.
    Trouble,
    /// Nothing is done to it.
    Paused,
}

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The first thing that people look at.
    pub mark: Mark,
    /// A phase, or counts such as `1/2 ready`.
    pub state: String,
    /// What else is worth knowing: where it is, its version.
    pub facts: Vec<String>,
    /// Why it is not ready, as one word. Empty when it is.
    pub reason: String,
    /// The first line of the message that goes with it.
    pub message: String,
    /// Since when it stands so.
    pub since: Option<Timestamp>,
}

/// What a kind knows of its own object; what is common to all comes on top.
pub(super) struct Judged<'a> {
    /// All its conditions.
    pub conditions: &'a [Condition],
    /// The condition that says why it is not ready.
    pub headline: Option<&'a Condition>,
    /// It is as it shall be.
    pub ready: bool,
    /// It cannot go on without help, whatever the reason says.
    pub failed: bool,
    /// A phase, or counts.
    pub state: String,
    /// What else is worth knowing.
    pub facts: Vec<String>,
}

/// How an object stands, by what its kind knows of it.
pub(super) fn stand(object: &impl Resource, judged: Judged<'_>) -> Standing {
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
        (None, _) => "no controller has said anything of it yet".into(),
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

/// Whether somebody must act. A reason that this release does not know asks for nothing.
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
