//! How soon a status is written that differs from the written one: one rule for all kinds. Pure.
//!
//! At once: a warning that is new or other, an end, and what other objects read. The rest is
//! expected to change before anybody reads it, and is written if it lasts: conditions for [`CALM`],
//! and what differs in words alone for as long as the kind says, [`CALM`] or [`WORDS`].

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::api::conditions::{ConditionType, Reason, Severity, Status, find, is_true};
use crate::api::reported::ConditionedStatus;

/// For how long progress has to last. What an object only passes through takes less: a write and an
/// Event for each would be most of what a new Machine costs. A person who watches sees it soon.
pub const CALM: Duration = Duration::from_secs(2);

/// The same for words that stand on another object as well, sooner: those of a set, of a deployment
/// and of a Cluster on its Machines. They change with each step of each Machine, of which there may
/// be thousands.
pub const WORDS: Duration = Duration::from_secs(10);

/// What was done and is told, however soon something else is to be said of the object.
const DONE: [Reason; 2] = [Reason::HostFenced, Reason::MemberRemoved];

/// For how long a status is held back, from the first difference on. `is_read`: what others read
/// of it differs. `words`: the time for what differs beside the conditions and in their messages.
pub fn due<S: ConditionedStatus>(old: &S, new: &S, is_read: bool, words: Duration) -> Duration {
    let (before, after) = (old.conditions(), new.conditions());
    if is_read || is_told(before, after) || is_end(before, after) {
        Duration::ZERO
    } else if says_the_same(old, new) {
        words
    } else {
        CALM
    }
}

/// Whether a warning, or what was done, is new or in other words. One that is over waits for
/// [`CALM`]: an action that begins may find the same again in a moment.
fn is_told(before: &[Condition], after: &[Condition]) -> bool {
    let told = |conditions: &[Condition]| -> Vec<[String; 4]> {
        let told = conditions.iter().filter(|one| is_loud(one));
        told.map(|one| [&one.type_, &one.status, &one.reason, &one.message].map(String::clone))
            .collect()
    };
    let (before, after) = (told(before), told(after));
    after.iter().any(|one| !before.contains(one))
}

fn is_loud(condition: &Condition) -> bool {
    let reason = Reason::parse(&condition.reason);
    reason.is_some_and(|reason| reason.severity() == Severity::Warning || DONE.contains(&reason))
}

/// Whether something ends: it becomes Ready, a drain is over, or a pause begins or is over.
fn is_end(before: &[Condition], after: &[Condition]) -> bool {
    let becomes = |type_, status: Status| {
        let is = |conditions| find(conditions, type_).is_some_and(|one| one.status == status);
        is(after) && !is(before)
    };
    becomes(ConditionType::Ready, Status::True)
        || is_true(before, ConditionType::Draining) && !is_true(after, ConditionType::Draining)
        || is_true(before, ConditionType::Paused) != is_true(after, ConditionType::Paused)
}

/// Whether two statuses are about the same generation, and their conditions differ at most in
/// messages.
fn says_the_same<S: ConditionedStatus>(old: &S, new: &S) -> bool {
    old.generation() == new.generation() && verdicts(old.conditions()) == verdicts(new.conditions())
}

/// Type, status and reason of each condition, sorted.
pub fn verdicts(conditions: &[Condition]) -> Vec<[&str; 3]> {
    let mut verdicts: Vec<_> = conditions.iter().map(verdict).collect();
    verdicts.sort_unstable();
    verdicts
}

fn verdict(condition: &Condition) -> [&str; 3] {
    let Condition {
        type_,
        status,
        reason,
        ..
    } = condition;
    [type_, status, reason].map(String::as_str)
}

#[cfg(test)]
#[path = "status_write_tests.rs"]
mod tests;
