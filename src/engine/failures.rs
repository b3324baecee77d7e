//! How often the passes over an object have failed in a row. In memory: a restart tries at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::conditions::{ConditionType, Finding, Reason};

/// Controller, namespace and name.
pub(super) type Key = (&'static str, String, String);

/// First delay after a failure, doubled each time.
const BASE: Duration = Duration::from_millis(200);
/// Longest delay.
const MAX: Duration = Duration::from_mins(1);

/// Failures in a row before the object says so, after six seconds: what passes by itself has passed.
const QUIET: u32 = 6;
/// An object that no pass may be made over is looked at again after this time, although the end of its trouble wakes it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Failures in a row, by object.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<Key, Row>>);

#[derive(Default)]
struct Row {
    count: u32,
    /// The cause that was reported last.
    reported: String,
}

impl Failures {
    /// Counts a failure, and returns how long to wait before the next pass.
    pub fn next_delay(&self, key: &Key) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = &mut failures.entry(key.clone()).or_default().count;
        let delay = BASE.saturating_mul(1 << (*count).min(10)).min(MAX);
        *count += 1;
        delay
    }

    /// What is reported of a pass that fails again and again: each cause once.
    pub fn news(&self, key: &Key, cause: String, remedy: &str) -> Option<Finding> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = failures.get_mut(key)?;
        if row.count < QUIET || row.reported == cause {
            return None;
        }
        let (controller, ..) = key;
        let message = format!("{controller}: {cause}. {remedy}; retried at least every minute");
        row.reported = cause;
        Some(Finding::no(
            ConditionType::Reconciled,
            Reason::PassFailed,
            message,
        ))
    }

    /// The last pass went well.
    pub fn clear(&self, key: &Key) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_for_long_is_reported_once_of_each_cause() {
        let failures = Failures::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let mut reported = Vec::new();
        for pass in 1..20 {
            failures.next_delay(&key);
            let cause = if pass < 12 { "a" } else { "b" };
            let news = failures.news(&key, cause.into(), "Mend it");
            reported.extend(news.map(|finding| (pass, finding.message)));
        }
        let a = "machine: a. Mend it; retried at least every minute";
        let b = "machine: b. Mend it; retried at least every minute";
        assert_eq!(reported, [(6, a.to_owned()), (12, b.to_owned())]);
        failures.clear(&key);
        failures.next_delay(&key);
        assert_eq!(failures.news(&key, "a".into(), "Mend it"), None);
    }
}
