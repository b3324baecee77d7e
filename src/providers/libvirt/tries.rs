//! Failed attempts at hypervisors, which are retried with back-off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tatara_core::AttemptRecord;
use tatara_core::api::conditions::Finding;

/// Attempts by key: the UID of a Machine, or an image on a hypervisor.
#[derive(Default)]
pub struct Tries(Mutex<HashMap<String, AttemptRecord>>);

impl Tries {
    /// The attempts so far.
    pub fn of(&self, what: &str) -> AttemptRecord {
        self.lock().get(what).cloned().unwrap_or_default()
    }

    /// Counts one more attempt; with a finding, it was refused.
    pub fn again(&self, what: &str, refused: Option<Finding>) {
        let mut tries = self.lock();
        let entry = tries.entry(what.to_owned()).or_default();
        entry.times = entry.times.saturating_add(1);
        entry.last = Some(crate::clock::now());
        entry.refused = refused;
    }

    /// Records that a Machine left a hypervisor without a virtual machine there, and drops the
    /// refusal, which was specific to it.
    pub fn leave(&self, machine_uid: &str, hypervisor: &str) {
        let mut tries = self.lock();
        let entry = tries.entry(machine_uid.to_owned()).or_default();
        entry.refused = None;
        entry.left.insert(hypervisor.to_owned());
    }

    /// Ends the back-off after the last attempt.
    pub fn retry(&self, what: &str) {
        if let Some(tried) = self.lock().get_mut(what) {
            tried.at_once();
        }
    }

    /// Forgets attempts that succeeded or are obsolete.
    pub fn forget(&self, what: &str) {
        self.lock().remove(what);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AttemptRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
