//! How often the passes over an object have failed in a row. In memory: a restart tries at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::conditions::{ConditionType, Finding, Reason};

/// Controller, namespace and name.
type Key = (&'static str, String, String);

/// First delay after a failure, doubled each time.
const BASE: Duration = Duration::from_millis(200);
/// Longest delay.
const MAX: Duration = Duration::from_mins(1);

/// Failures in a row that pass by themselves, as while an API server starts: beyond these, people are told.
const QUIET: u32 = 8;

/// Failures in a row, by object.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<Key, Row>>);

#[derive(Default)]
struct Row {
    count: u32,
    /// What people were told last.
    told: String,
}

impl Failures {
    /// Counts a failure, and says how long to wait before the next pass.
    pub fn next_delay(&self, key: &Key) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = &mut failures.entry(key.clone()).or_default().count;
        let delay = BASE.saturating_mul(1 << (*count).min(10)).min(MAX);
        *count += 1;
        delay
    }

    /// What people are told of a pass that fails again and again: once of each cause.
    pub fn news(&self, key: &Key, cause: String) -> Option<Finding> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = failures.get_mut(key)?;
        if row.count < QUIET || row.told == cause {
            return None;
        }
        let (controller, ..) = key;
        let message = format!(
            "{controller}: {cause}; failed {} times in a row, and is tried again every minute",
            row.count
        );
        row.told = cause;
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
    fn people_are_told_of_what_fails_for_long_once_of_each_cause() {
        let failures = Failures::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let mut told = Vec::new();
        for pass in 1..20 {
            failures.next_delay(&key);
            let cause = if pass < 12 { "a" } else { "b" };
            let news = failures.news(&key, cause.into());
            told.extend(news.map(|finding| (pass, finding.message)));
        }
        let said: Vec<_> = told.iter().map(|(pass, _)| *pass).collect();
        assert_eq!(said, [8, 12]);
        assert!(told[0].1.starts_with("machine: a; failed 8 times"));
        failures.clear(&key);
        failures.next_delay(&key);
        assert_eq!(failures.news(&key, "a".into()), None);
    }
}
