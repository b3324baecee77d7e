//! How often the passes over an object have failed in a row. In memory: a restart tries at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Controller, namespace and name.
type Key = (&'static str, String, String);

/// First delay after a failure, doubled each time.
const BASE: Duration = Duration::from_millis(200);
/// Longest delay.
const MAX: Duration = Duration::from_mins(1);

/// Failures in a row, by object.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<Key, u32>>);

impl Failures {
    /// Counts a failure, and says how long to wait before the next pass.
    pub fn next_delay(&self, key: &Key) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key.clone()).or_default();
        let delay = BASE.saturating_mul(1 << (*count).min(10)).min(MAX);
        *count += 1;
        delay
    }

    /// The last pass went well.
    pub fn clear(&self, key: &Key) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}
