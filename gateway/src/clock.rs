//! The only module that reads the clock; decisions take the time as an argument.

use std::time::Instant;

use jiff::Timestamp;

/// The current time.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The monotonic clock, to measure durations.
#[allow(clippy::disallowed_methods)]
pub fn instant() -> Instant {
    Instant::now()
}
