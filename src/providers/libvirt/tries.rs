//! Failed attempts at hypervisors, which are retried with back-off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::conditions::Finding;
use crate::core::AttemptRecord;

/// Tries by what was tried: the UID of a Machine, or an image on a hypervisor.
#[derive(Default)]
pub struct Tries(Mutex<HashMap<String, AttemptRecord>>);

impl Tries {
    /// The tries so far.
    pub fn of(&self, what: &str) -> AttemptRecord {
        self.lock().get(what).cloned().unwrap_or_default()
    }

    /// It was tried once more, and refused if there is a finding.
    pub fn again(&self, what: &str, refused: Option<Finding>) {
        let mut tries = self.lock();
        let entry = tries.entry(what.to_owned()).or_default();
        entry.times = entry.times.saturating_add(1);
        entry.last = Some(crate::clock::now());
        entry.refused = refused;
    }

    /// A Machine leaves a hypervisor on which nothing of it exists. What refused it was said of that one.
    pub fn leave(&self, machine_uid: &str, hypervisor: &str) {
        let mut tries = self.lock();
        let entry = tries.entry(machine_uid.to_owned()).or_default();
        entry.refused = None;
        entry.left.insert(hypervisor.to_owned());
    }

    /// Ends the pause after the last try.
    pub fn retry(&self, what: &str) {
        if let Some(tried) = self.lock().get_mut(what) {
            tried.at_once();
        }
    }

    /// It succeeded, or is not wanted any more.
    pub fn forget(&self, what: &str) {
        self.lock().remove(what);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AttemptRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
