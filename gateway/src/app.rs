//! State shared by all requests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};
use std::time::Duration;

use tokio::sync::{Mutex as Turns, OwnedMutexGuard as Turn};
use uuid::Uuid;

use crate::args::Args;
use crate::events::Hub;
use crate::images::{Bounds, Images};
use crate::libvirt::capacity::Limits;
use crate::libvirt::{Libvirt, Link};
use crate::machines::{self, Agents};

/// Timeout for the lock of a machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// State shared by all requests. It is in memory only: everything durable is in libvirt.
pub struct App {
    /// The connection to libvirt.
    pub libvirt: Arc<Libvirt>,
    /// Limits of allocatable CPUs and memory.
    pub limits: Limits,
    /// Directory of the console logs.
    pub console_directory: PathBuf,
    /// Directory of the DHCP leases.
    pub lease_directory: PathBuf,
    /// Locks between concurrent requests.
    pub locks: Locks,
    /// Size limits of images.
    pub bounds: Bounds,
    /// Running and failed downloads of images.
    pub images: Images,
    /// Cached answers of guest agents.
    pub agents: Agents,
    /// Publishes changes to event streams.
    pub hub: Hub,
}

impl App {
    /// The initial state of a gateway.
    pub fn new(args: &Args) -> Self {
        Self {
            libvirt: Arc::new(Libvirt::new(args.libvirt.clone())),
            limits: Limits {
                cpu_overcommit: args.cpu_overcommit,
                memory_overcommit: args.memory_overcommit,
                memory_reserve: args.memory_reserve,
            },
            console_directory: args.console_directory.clone(),
            lease_directory: args.lease_directory.clone(),
            locks: Locks::default(),
            bounds: Bounds {
                most: args.image_limit,
                reserve: args.pool_reserve,
            },
            images: Images::default(),
            agents: Agents::default(),
            hub: Hub::default(),
        }
    }

    /// Runs a change of a machine. Changes of one machine are serialized in the order of the
    /// requests, so that a retry finds the result of the first request. A waiting change occupies
    /// no worker, and is dropped when its caller disconnects.
    ///
    /// # Errors
    /// `Error::Busy` when an earlier change holds the lock for 30 s; otherwise those of `work` and
    /// [`Libvirt::run`].
    pub async fn change<T, F>(self: &Arc<Self>, id: Uuid, work: F) -> machines::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Self, &Link) -> machines::Result<T> + Send + 'static,
    {
        let turn = self.locks.machine(id).await?;
        let app = self.clone();
        self.libvirt
            .run(move |link: &Link| {
                let _turn = turn;
                work(&app, link)
            })
            .await
    }
}

/// Locks. The order is always machine, pools, capacity. All but the first are taken on blocking
/// workers.
#[derive(Default)]
pub struct Locks {
    /// Locks of machines that are being changed.
    machines: Mutex<HashMap<Uuid, Weak<Turns<()>>>>,
    pools: RwLock<()>,
    capacity: Mutex<()>,
}

impl Locks {
    /// Acquires a machine's lock, first come first served, with a timeout.
    async fn machine(&self, id: Uuid) -> machines::Result<Turn<()>> {
        let turns = self.turns(id);
        tokio::time::timeout(PATIENCE, turns.lock_owned())
            .await
            .map_err(|_| machines::Error::Busy { id })
    }

    fn turns(&self, id: Uuid) -> Arc<Turns<()>> {
        let mut all = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, turns| turns.strong_count() > 0);
        if let Some(turns) = all.get(&id).and_then(Weak::upgrade) {
            return turns;
        }
        let turns = Arc::default();
        all.insert(id, Arc::downgrade(&turns));
        turns
    }

    /// Shared lock: held while volumes are created or deleted.
    pub fn volumes(&self) -> RwLockReadGuard<'_, ()> {
        self.pools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Exclusive lock: held while a pool is refreshed or an image deleted, so that no volume is
    /// created meanwhile.
    pub fn pools(&self) -> RwLockWriteGuard<'_, ()> {
        self.pools.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held from the capacity check to the definition of the domain, so that no two creates
    /// allocate the same capacity.
    pub fn capacity(&self) -> MutexGuard<'_, ()> {
        self.capacity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
