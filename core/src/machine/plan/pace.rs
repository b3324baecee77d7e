//! How soon a Machine is looked at again where no event tells what it waits for.

use std::time::Duration;

/// A host that does not answer is asked again after this time at the latest.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(10);

/// A finding made while acting may change without an event: it is checked again after this time.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How soon a refused eviction is retried, as `kubectl drain` does (5 s). The watch reports a deleted pod at once.
pub(super) const DRAIN_AGAIN: Duration = Duration::from_secs(5);
