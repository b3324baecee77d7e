//! Commands that messages name as remedies. What cannot be undone is a verb of `tatara`, which checks first and says what comes of it.

use crate::words::word;

/// That what a Machine runs on is destroyed, erased or disconnected for good: sets
/// [`ANNOTATION_HOST_IS_GONE`](crate::api::names::ANNOTATION_HOST_IS_GONE).
pub fn declare_gone(namespace: &str, machine: &str) -> String {
    format!(
        "tatara machine declare-gone {} -n {namespace}",
        word(machine)
    )
}
