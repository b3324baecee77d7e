//! Hosts as places of Machines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt;

use super::choices::Choices;
use super::{Hosts, Server, acquire, place};
use crate::engine::{ActionOutcome, Engine, ReconcileError, patch};
use crate::providers::{Bmcs, Outcome, Place, Provider};
use crate::store::Wakers;
use tatara_core::api::Host;
use tatara_core::machine::live::claim as live;
use tatara_core::machine::plan::{Acquire, Power, Release};
use tatara_core::machine::{HostChoice, Infrastructure, Observed, PendingClaim, Placement};
use tatara_core::node::Marker;

/// Servers that users registered as Hosts. A place is the claim on a Host; the Host's own
/// controller resets the server and controls its power.
pub struct Ssh {
    /// The management cluster.
    pub engine: Arc<Engine>,
    /// The servers.
    pub hosts: Arc<Hosts>,
    /// Their BMCs.
    pub bmcs: Arc<Bmcs>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// Claims that were written and that the store may not show yet, by UID of the Machine.
    claims: Mutex<HashMap<String, PendingClaim>>,
    /// Hosts that Machines have chosen a moment ago.
    pub(super) choices: Choices,
}

impl Ssh {
    /// Starts without pending claims.
    pub fn new(engine: Arc<Engine>, hosts: Arc<Hosts>, bmcs: Arc<Bmcs>, wakers: Wakers) -> Self {
        Self {
            engine,
            hosts,
            bmcs,
            wakers,
            claims: Mutex::default(),
            choices: Choices::default(),
        }
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, uid: &str) {
        self.claims().remove(uid);
    }

    pub(super) fn claims(&self) -> MutexGuard<'_, HashMap<String, PendingClaim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Host that a Machine chose, and its state if the Machine does not hold it.
    pub async fn chosen(&self, machine: &Observed, placement: &Placement) -> Option<HostChoice> {
        place::chosen(self, machine, placement).await
    }

    /// The Host that a Machine just claimed, if the store does not show the claim yet.
    pub fn claiming(&self, machine: &Marker) -> Option<String> {
        place::claiming(self, &machine.namespace, &machine.uid)
    }

    /// The Host that the Machine holds.
    fn held(&self, machine: &Observed) -> Result<Arc<Host>, ReconcileError> {
        let missing = |why| ReconcileError::other("find the host of a Machine", why);
        let Placement::Held(Infrastructure { name, .. }) = &machine.placement else {
            return Err(missing("it has none".to_owned()));
        };
        let found = self
            .engine
            .stores
            .hosts
            .get(&machine.marker.namespace, name);
        found.ok_or_else(|| missing(format!("Host {name} was deleted")))
    }

    async fn let_go(&self, machine: &Observed) -> Outcome {
        let host = self.held(machine)?;
        let Some(change) = live::release(&host, &machine.marker) else {
            return Err(ReconcileError::Conflict {
                what: format!(
                    "release Host {}, which Machine {} does not claim any more",
                    host.name_any(),
                    machine.marker.machine
                ),
            });
        };
        let basis = live::release_basis;
        patch::swap(&self.engine, host.as_ref(), basis, |_| change.clone()).await?;
        Ok(ActionOutcome::Yes)
    }
}

impl Provider for Ssh {
    fn observe<'a>(&'a self, machine: &'a Observed) -> BoxFuture<'a, Place> {
        place::observe(self, machine).boxed()
    }

    fn acquire<'a>(&'a self, machine: &'a Observed, step: &'a Acquire) -> BoxFuture<'a, Outcome> {
        async move {
            if let Acquire::Place { name, instead } = step {
                acquire::claim(self, machine, name, instead.as_ref()).await?;
            }
            Ok(ActionOutcome::Yes)
        }
        .boxed()
    }

    fn power<'a>(&'a self, machine: &'a Observed, _: Power) -> BoxFuture<'a, Outcome> {
        async move {
            let host = self.held(machine)?;
            self.wakers.hosts.wake_object(&host);
            Ok(ActionOutcome::Yes)
        }
        .boxed()
    }

    // a host that cannot be reset now is reset once it answers; its own controller tracks that
    fn release<'a>(&'a self, machine: &'a Observed, _: Release) -> BoxFuture<'a, Outcome> {
        self.let_go(machine).boxed()
    }

    fn server(&self, machine: &Observed) -> Result<Arc<dyn Server>, ReconcileError> {
        self.held(machine).map(|host| host as Arc<dyn Server>)
    }
}
