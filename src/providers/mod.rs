//! Where machines come from, behind one contract, [`Provider`]. Backends stand beside each other: [`ssh`] is servers that
//! their owner has, [`libvirt`] makes virtual machines on hypervisors, [`simulated`] machines live in the manager's
//! memory. [`bmc`] drives the power of servers, [`install`] their operating system.

pub mod bmc;
mod choice;
pub mod install;
pub mod libvirt;
pub mod simulated;
pub mod ssh;

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::core::machine::kind::PlaceKind;
use crate::core::machine::plan::{Acquire, Power, Release};
use crate::core::machine::{HostChoice, Observed, Placement, VirtualMachine};
use crate::engine::{ActionOutcome, ReconcileError};

pub use bmc::Bmcs;
pub use choice::basis;
pub use install::Installs;
pub use libvirt::Libvirt;
pub use simulated::Simulated;
pub use ssh::{Follows, Hosts, Server, Ssh};

/// The result of a verb. An error is internal or a conflict, and the pass is repeated; a problem that a user can fix is the
/// finding of [`Done::NotYet`].
pub type Outcome = Result<ActionOutcome, ReconcileError>;

/// A place for a Machine: acquire → observe → power → release, on what a pass over the Machine knows.
///
/// Each verb is re-entrant: it may be called any number of times, also after it was cut in the middle and by another
/// process, and does once what is to be done. Nothing is kept but what can be found again: a place that is acquired is
/// known by the UID of its Machine. Which step is due is decided in [`crate::core::machine::plan`], by what was observed.
pub trait Provider: Send + Sync {
    /// What the place is now; where there is none yet, the one that would be taken, or why none can be. It changes nothing.
    /// What cannot be asked is said to be so, and never to be absent.
    fn observe<'a>(&'a self, machine: &'a Observed) -> BoxFuture<'a, Place>;

    /// One step towards the place. A place of another Machine is a conflict, and is left as it is. A step that the provider
    /// does not have is done already.
    fn acquire<'a>(&'a self, machine: &'a Observed, step: &'a Acquire) -> BoxFuture<'a, Outcome>;

    /// Brings what the Machine runs on to this power; nothing where it is there already. A server's power is its Host's: the
    /// controller of that is woken, which knows what stands in the way. A simulated machine is always on.
    fn power<'a>(&'a self, machine: &'a Observed, power: Power) -> BoxFuture<'a, Outcome>;

    /// Gives the place back: what runs there is to end. It is done when [`Self::observe`] shows no place any more, and not
    /// when this returns. A place that is another's by now is a conflict, and is left as it is.
    fn release<'a>(&'a self, machine: &'a Observed, how: Release) -> BoxFuture<'a, Outcome>;

    /// The server on which steps run, at the place that was observed.
    ///
    /// # Errors
    /// There is none, or it cannot be logged in to.
    fn server(&self, machine: &Observed) -> Result<Arc<dyn Server>, ReconcileError>;
}

/// What a provider knows of a Machine's place.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the Machine runs, or could run.
    pub placement: Placement,
    /// Its virtual machine, once its Hypervisor is chosen.
    pub virtual_machine: Option<VirtualMachine>,
    /// The Host that it chose, and what is known of that where the Machine does not have it.
    pub chosen: Option<HostChoice>,
    /// The Host that it has just claimed, and that the store does not show as claimed yet.
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
    /// The provider of what a Machine runs on, or is to run on. One whose records contradict each other, or whose spec has
    /// become unusable or another's, may still hold a Host.
    pub fn of(&self, machine: &Observed) -> &dyn Provider {
        match machine.kind() {
            Ok(Some(PlaceKind::VirtualMachine)) => &self.libvirt,
            Ok(Some(PlaceKind::Simulation)) => &self.simulated,
            Ok(Some(PlaceKind::Host) | None) | Err(_) => &self.ssh,
        }
    }

    /// What is known of a Machine's place. Whatever it runs on by its records now: a Host that it chose or claimed is known
    /// as well.
    pub async fn observe(&self, machine: &Observed) -> Place {
        let mut place = self.of(machine).observe(machine).await;
        place.chosen = self.ssh.chosen(machine, &place.placement).await;
        if matches!(place.placement, Placement::None(_)) {
            place.claiming = self.ssh.claiming(&machine.marker);
        }
        place
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, uid: &str) {
        self.ssh.forget(uid);
        self.libvirt.forget(uid);
    }
}

#[cfg(test)]
mod contract_tests;
