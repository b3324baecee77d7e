//! The one place that reads the clock; decisions take the time as an argument.

use std::time::Instant;

use jiff::Timestamp;

/// The time now.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// A point on the clock that only goes forward, to measure how long something took.
#[allow(clippy::disallowed_methods)]
pub fn instant() -> Instant {
    Instant::now()
}
