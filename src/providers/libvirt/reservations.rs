//! Room on hypervisors that was given to Machines, and that the store does not show yet: so that two Machines
//! which choose at the same time never take the same room.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::machine::plan::placement::Demand;

/// Room that was given to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Namespace of the Machine and its Hypervisor.
    pub namespace: String,
    /// Name of the Hypervisor.
    pub hypervisor: String,
    /// Name of the Machine's Cluster.
    pub cluster: String,
    /// How much.
    pub demand: Demand,
}

/// Reservations by UID of the Machine. Locked while one chooses.
#[derive(Default)]
pub struct Reservations(Mutex<HashMap<String, Reservation>>);

impl Reservations {
    /// All of them, to choose with; nobody else chooses meanwhile.
    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, Reservation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Machine has its place, or goes.
    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}
