//! Holds back transient statuses: each would cost a write and an Event, and change before anyone could read it. One
//! that lasts is written by the next pass that begins or ends after `Controller::holds_back`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::failures::Key;

/// Since when the status of an object differs from the written one, by object. In memory: a restart begins anew.
#[derive(Default)]
pub struct PendingStatuses(Mutex<HashMap<Key, Timestamp>>);

impl PendingStatuses {
    /// Records that the status of an object is transient and differs from the written one. Returns the time for which it
    /// is still held back; zero if it must be written.
    pub(super) fn hold_back(&self, key: &Key, now: Timestamp, time: Duration) -> Duration {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *all.entry(key.clone()).or_insert(now);
        // a clock that was set back does not hold a status back
        let age = now.duration_since(since);
        if age.is_negative() {
            return Duration::ZERO;
        }
        time.saturating_sub(age.unsigned_abs())
    }

    /// Records that the status is written, or that the object is deleted.
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

    const TIME: Duration = Duration::from_secs(2);

    #[test]
    fn a_passing_status_is_held_back_from_the_first_difference_on() {
        let unwritten = PendingStatuses::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let at = |millisecond| Timestamp::from_millisecond(millisecond).expect("a time");
        let left = |millisecond| {
            let left = unwritten.hold_back(&key, at(millisecond), TIME);
            left.as_millis()
        };
        assert_eq!(
            [left(10_000), left(10_500), left(12_000), left(60_000)],
            [2000, 1500, 0, 0]
        );
        assert_eq!(left(9_000), 0, "the clock was set back");
        unwritten.clear(&key);
        let other = unwritten.hold_back(&key, at(60_500), TIME);
        assert_eq!(other.as_millis(), 2000);
    }
}
