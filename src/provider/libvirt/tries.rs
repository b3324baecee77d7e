//! How often something was tried in vain at a hypervisor, so that it is tried again at growing intervals.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::provider::follow::Attempts;

/// Tries by what was tried: the UID of a Machine, or an image on a hypervisor.
#[derive(Default)]
pub struct Tries(Mutex<HashMap<String, Attempts>>);

impl Tries {
    /// The tries so far.
    pub fn of(&self, what: &str) -> Attempts {
        self.lock().get(what).cloned().unwrap_or_default()
    }

    /// It is tried once more.
    pub fn again(&self, what: &str) {
        let mut tries = self.lock();
        let entry = tries.entry(what.to_owned()).or_default();
        entry.failed = entry.failed.saturating_add(1);
        entry.last = Some(crate::clock::now());
    }

    /// It succeeded, or is not wanted any more.
    pub fn forget(&self, what: &str) {
        self.lock().remove(what);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Attempts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
