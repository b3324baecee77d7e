//! Infrastructure providers behind one contract, [`Provider`]: [`ssh`] uses registered servers,
//! [`libvirt`] creates virtual machines on hypervisors, [`simulated`] keeps machines in the
//! manager's memory. [`bmc`] controls the power of servers, [`install`] installs their operating
//! system.

pub mod bmc;
mod choice;
pub mod install;
pub mod libvirt;
pub mod simulated;
pub mod ssh;

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::engine::{ActionOutcome, ReconcileError};
use tatara_core::api::Machine;
use tatara_core::machine::kind::PlaceKind;
use tatara_core::machine::plan::{Acquire, Power, Release};
use tatara_core::machine::{HostChoice, Observed, Placement, VirtualMachine};

pub use bmc::Bmcs;
pub use install::Installs;
pub use libvirt::Libvirt;
pub use simulated::Simulated;
pub use ssh::{Follows, Hosts, Leader, Server, Ssh};

/// The result of a verb. An error is internal or a conflict, and the pass is repeated; a problem
/// that a user can fix is the finding of [`ActionOutcome::NotYet`].
pub type Outcome = Result<ActionOutcome, ReconcileError>;

/// A place for a Machine: acquire → observe → power → release, based on what a pass over the
/// Machine observed.
///
/// Each verb is idempotent: it may be called repeatedly, also after an interruption and by another
/// process. Only state that can be rebuilt is kept in memory: an acquired place is found by its
/// Machine's UID. [`tatara_core::machine::plan`] decides from the observation which step is due.
pub trait Provider: Send + Sync {
    /// The current place; without one, the place that would be acquired, or why none is available.
    /// Changes nothing. What cannot be read is reported as unknown, never as absent.
    fn observe<'a>(&'a self, machine: &'a Observed) -> BoxFuture<'a, Place>;

    /// Performs one step of acquiring the place. A place of another Machine is a conflict, and is
    /// not changed. A step that the provider does not need is reported as done.
    fn acquire<'a>(&'a self, machine: &'a Observed, step: &'a Acquire) -> BoxFuture<'a, Outcome>;

    /// Sets the power state of the Machine's place, if it differs. The power of a server belongs to
    /// its Host: that controller is woken, which knows the obstacles. A simulated machine is always
    /// on.
    fn power<'a>(&'a self, machine: &'a Observed, power: Power) -> BoxFuture<'a, Outcome>;

    /// Releases the place, and ends what runs there. Complete when [`Self::observe`] shows no place
    /// any more, not when this returns. A place that belongs to another Machine by now is a
    /// conflict, and is not changed.
    fn release<'a>(&'a self, machine: &'a Observed, how: Release) -> BoxFuture<'a, Outcome>;

    /// The server on which jobs run, at the observed place.
    ///
    /// # Errors
    /// There is no server, or SSH login to it is impossible.
    fn server(&self, machine: &Observed) -> Result<Arc<dyn Server>, ReconcileError>;
}

/// A provider's observation of a Machine's place.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the Machine runs, or could run.
    pub placement: Placement,
    /// Its virtual machine, once its Hypervisor is chosen.
    pub virtual_machine: Option<VirtualMachine>,
    /// The chosen Host, and its state if the Machine does not hold it.
    pub chosen: Option<HostChoice>,
    /// The Host that was just claimed, if the store does not show the claim yet.
    pub claiming: Option<String>,
}

impl From<Placement> for Place {
    fn from(placement: Placement) -> Self {
        Self {
            placement,
            virtual_machine: None,
            chosen: None,
            claiming: None,
        }
    }
}

/// All providers.
pub struct Providers {
    /// Hosts.
    pub ssh: Ssh,
    /// Virtual machines on Hypervisors.
    pub libvirt: Libvirt,
    /// Machines in memory.
    pub simulated: Simulated,
}

impl Providers {
    /// The provider of a Machine's current or future place. The SSH provider if the records
    /// contradict each other, or if the spec is invalid or names another provider: the Machine may
    /// still hold a Host.
    pub fn of(&self, machine: &Observed) -> &dyn Provider {
        match machine.kind() {
            Ok(Some(PlaceKind::VirtualMachine)) => &self.libvirt,
            Ok(Some(PlaceKind::Simulation)) => &self.simulated,
            Ok(Some(PlaceKind::Host) | None) | Err(_) => &self.ssh,
        }
    }

    /// Observes a Machine's place. A Host that it chose or claimed is reported even if its records
    /// name another place now.
    pub async fn observe(&self, machine: &Observed) -> Place {
        let mut place = self.of(machine).observe(machine).await;
        place.chosen = self.ssh.chosen(machine, &place.placement).await;
        if matches!(place.placement, Placement::None(_)) {
            place.claiming = self.ssh.claiming(&machine.marker);
        }
        place
    }

    /// The server of a Machine that is not observed in this pass, and its address for other nodes:
    /// the Host that it claims, or its virtual machine. `None` if it has none, or one that cannot
    /// be logged in to.
    pub fn server_of(&self, machine: &Machine) -> Option<(Arc<dyn Server>, String)> {
        if let Some(host) = ssh::claims::only_of(&self.ssh.engine.stores.hosts, machine) {
            let address = ssh::target::node_address(&host);
            return Some((host, address));
        }
        let guest = self.libvirt.guest(machine)?;
        let address = guest.address.clone();
        Some((Arc::new(guest), address))
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, uid: &str) {
        self.ssh.forget(uid);
        self.libvirt.forget(uid);
    }
}

#[cfg(test)]
mod contract_tests;
