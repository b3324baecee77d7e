//! The one place that reads the clock; decisions take the time as an argument.

use k8s_openapi::jiff::Timestamp;

/// The time now.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Timestamp {
    Timestamp::now()
}
