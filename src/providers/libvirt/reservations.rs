//! Capacity of hypervisors that is assigned to Machines and not in the store yet, so that two
//! Machines that choose concurrently never take the same capacity.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tatara_core::machine::plan::placement::Demand;

/// Capacity assigned to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Namespace of the Machine and its Hypervisor.
    pub namespace: String,
    /// Name of the Hypervisor.
    pub hypervisor: String,
    /// Name of the Machine's Cluster.
    pub cluster: String,
    /// The Machine is a control plane.
    pub is_control_plane: bool,
    /// The assigned capacity.
    pub demand: Demand,
}

/// Reservations by UID of the Machine. Locked during a choice.
#[derive(Default)]
pub struct Reservations(Mutex<HashMap<String, Reservation>>);

impl Reservations {
    /// Locks all reservations for one choice.
    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, Reservation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the reservation of a Machine whose place is stored, or that is deleted.
    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}
