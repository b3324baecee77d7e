//! Statuses that are about to be others are not written: what is passed through in a moment costs a write and an Event, and
//! nobody can read it. One that lasts is written by the next pass that begins or ends after [`LASTS`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::failures::Key;

/// How long a passing status is held back; the least time between two of them, too.
const LASTS: SignedDuration = SignedDuration::from_secs(2);

/// Since when the status of an object differs from what is written, by object. In memory: a restart begins anew.
#[derive(Default)]
pub struct Unwritten(Mutex<HashMap<Key, Timestamp>>);

impl Unwritten {
    /// The status of an object is a passing one, and differs from what is written. Returns how long it is held back still;
    /// zero when it is to be written.
    pub(super) fn hold_back(&self, key: &Key, now: Timestamp) -> Duration {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *all.entry(key.clone()).or_insert(now);
        // a clock that was set back holds nothing back
        let age = now.duration_since(since);
        let left = if age.is_negative() {
            SignedDuration::ZERO
        } else {
            LASTS - age
        };
        left.max(SignedDuration::ZERO).unsigned_abs()
    }

    /// Its status is what is written, or it is gone.
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
    fn a_passing_status_is_held_back_from_the_first_difference_on() {
        let unwritten = Unwritten::default();
        let key = ("machine", "n".to_owned(), "m".to_owned());
        let at = |millisecond| Timestamp::from_millisecond(millisecond).expect("a time");
        let left = |millisecond| {
            let left = unwritten.hold_back(&key, at(millisecond));
            left.as_millis()
        };
        assert_eq!(
            [left(10_000), left(10_500), left(12_000), left(60_000)],
            [2000, 1500, 0, 0]
        );
        assert_eq!(left(9_000), 0, "the clock was set back");
        unwritten.clear(&key);
        let other = unwritten.hold_back(&key, at(60_500));
        assert_eq!(other.as_millis(), 2000);
    }
}
