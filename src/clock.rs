//! The one place that reads the clock; decisions take the time as an argument.

use k8s_openapi::jiff::Timestamp;

/// The current time.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Timestamp {
    Timestamp::now()
}
