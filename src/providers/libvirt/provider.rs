//! Virtual machines as places of Machines.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt;

use super::server::Guest;
use super::{Reservations, Tries, give_up, observe, perform, record};
use crate::engine::{ActionOutcome, Engine, ReconcileError};
use crate::gateway::Registry;
use crate::providers::{Hosts, Outcome, Place, Provider, Server};
use crate::store::Wakers;
use tatara_core::api::{Machine, MachineProviderSpec};
use tatara_core::machine::plan::{Acquire, Power, Release};
use tatara_core::machine::{Observed, Placement};
use tatara_core::node::Marker;
use tatara_core::wire::PowerAction;

/// Virtual machines on Hypervisors. A place is a virtual machine that a gateway created, with its
/// Machine's UID as id.
pub struct Libvirt {
    /// The management cluster.
    pub engine: Arc<Engine>,
    /// Sessions of guests.
    pub hosts: Arc<Hosts>,
    /// Gateways of hypervisors.
    pub gateways: Arc<Registry>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// Reserved capacity of hypervisors that the store may not show yet.
    pub reservations: Reservations,
    /// Failed attempts at hypervisors.
    pub tries: Arc<Tries>,
}

impl Libvirt {
    /// Starts without reservations and attempts.
    pub fn new(
        engine: Arc<Engine>,
        hosts: Arc<Hosts>,
        gateways: Arc<Registry>,
        wakers: Wakers,
    ) -> Self {
        Self {
            engine,
            hosts,
            gateways,
            wakers,
            reservations: Reservations::default(),
            tries: Arc::default(),
        }
    }

    /// The virtual machine of a Machine, at the address in its status. `None` if it has none, or no
    /// login to it.
    pub fn guest(&self, machine: &Machine) -> Option<Guest> {
        let marker = Marker {
            namespace: machine.namespace().unwrap_or_default(),
            machine: machine.name_any(),
            ..Marker::default()
        };
        let addresses = &machine.status.as_ref()?.addresses;
        let address = addresses.first().map(|address| address.address.clone());
        observe::guest(self, &marker, address).ok()
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, uid: &str) {
        self.reservations.forget(uid);
        self.tries.forget(uid);
    }

    async fn step(&self, machine: &Observed, step: &Acquire) -> Outcome {
        match step {
            Acquire::Place { .. } => {
                if let Ok(MachineProviderSpec::Libvirt(spec)) = &machine.spec {
                    perform::reserve(self, machine, spec).await?;
                    let marker = &machine.marker;
                    self.wakers
                        .machines
                        .wake(&marker.namespace, &marker.machine);
                }
                Ok(ActionOutcome::Yes)
            }
            Acquire::Elsewhere => perform::leave(self, machine).await,
            Acquire::Image => perform::fetch_image(self, machine).await,
            Acquire::Machine => perform::create(self, machine).await,
            Acquire::Record => record::record(self, machine).await,
            Acquire::RemoveSeed => perform::remove_seed(self, machine).await,
            // its guest is updated over SSH
            Acquire::Update => Ok(ActionOutcome::Yes),
        }
    }

    async fn end(&self, machine: &Observed, how: Release) -> Outcome {
        match how {
            Release::Now => perform::release(self, machine).await,
            Release::Later => give_up::give_up(self, machine).await,
        }
    }
}

impl Provider for Libvirt {
    fn observe<'a>(&'a self, machine: &'a Observed) -> BoxFuture<'a, Place> {
        observe::observe(self, machine).boxed()
    }

    fn acquire<'a>(&'a self, machine: &'a Observed, step: &'a Acquire) -> BoxFuture<'a, Outcome> {
        self.step(machine, step).boxed()
    }

    fn power<'a>(&'a self, machine: &'a Observed, power: Power) -> BoxFuture<'a, Outcome> {
        let action = match power {
            Power::On => PowerAction::On,
            Power::Resume => PowerAction::Resume,
        };
        perform::switch(self, machine, action).boxed()
    }

    fn release<'a>(&'a self, machine: &'a Observed, how: Release) -> BoxFuture<'a, Outcome> {
        self.end(machine, how).boxed()
    }

    fn server(&self, machine: &Observed) -> Result<Arc<dyn Server>, ReconcileError> {
        let failed =
            |why: &dyn std::fmt::Display| ReconcileError::other("reach a virtual machine", why);
        let Placement::Held(held) = &machine.placement else {
            return Err(failed(&"there is none"));
        };
        match observe::guest(self, &machine.marker, held.address.clone()) {
            Ok(guest) => Ok(Arc::new(guest)),
            Err(error) => Err(failed(&error)),
        }
    }
}
