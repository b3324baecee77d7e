//! Holds back transient statuses: each would cost a write and an Event, and change before anyone
//! could read it. One that lasts is written by the next pass that begins or ends after
//! `Controller::holds_back`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::failures::Key;

/// When a status that differs from the written one must be written, by object. In memory: a restart
/// begins anew.
#[derive(Default)]
pub struct PendingStatuses(Mutex<HashMap<Key, Timestamp>>);

impl PendingStatuses {
    /// Records that the status of an object is transient and differs from the written one. Returns
    /// the time for which it is still held back; zero if it must be written. What may wait longer
    /// does not make wait what is due.
    pub(super) fn hold_back(&self, key: &Key, now: Timestamp, time: Duration) -> Duration {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = now.saturating_add(time).unwrap_or(now);
        let due = all.entry(key.clone()).or_insert(latest);
        *due = latest.min(*due);
        due.duration_since(now).try_into().unwrap_or_default()
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
        assert_eq!(left(9_000), 2000, "the clock was set back");
        unwritten.clear(&key);
        assert_eq!(left(60_500), 2000);
    }

    #[test]
    fn what_may_wait_for_long_hastens_nothing_and_delays_nothing() {
        let unwritten = PendingStatuses::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let left = |millisecond, time| {
            let now = Timestamp::from_millisecond(millisecond).expect("a time");
            let left = unwritten.hold_back(&key, now, Duration::from_millis(time));
            left.as_millis()
        };
        assert_eq!(left(10_000, 15_000), 15_000, "words");
        assert_eq!(left(22_000, 300), 300, "numbers");
        assert_eq!(left(22_100, 15_000), 200, "words again");
    }
}
