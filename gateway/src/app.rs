//! What all requests share.

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

/// How long a change of a machine waits for the one before it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all requests share. None of it outlives the process: libvirt has all that must.
pub struct App {
    /// libvirt.
    pub libvirt: Arc<Libvirt>,
    /// How much of the hypervisor may be given out.
    pub limits: Limits,
    /// Folder of the machines' console logs.
    pub console_directory: PathBuf,
    /// Folder of the DHCP leases.
    pub lease_directory: PathBuf,
    /// What may not happen at once.
    pub locks: Locks,
    /// How large images may be.
    pub bounds: Bounds,
    /// Images that are being fetched.
    pub images: Images,
    /// What guest agents said lately.
    pub agents: Agents,
    /// Listeners for changes.
    pub hub: Hub,
}

impl App {
    /// The state of a gateway that was just started.
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

    /// Changes a machine. There is one change of a machine at a time, in the order of the requests: the second
    /// delivery of one finds what the first has done. Those that wait take no worker from other machines, and are
    /// gone when their callers are.
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

/// Locks, always taken in this order: machine, pools, capacity. All but the first are taken by blocking workers.
#[derive(Default)]
pub struct Locks {
    /// Those of machines that are being changed.
    machines: Mutex<HashMap<Uuid, Weak<Turns<()>>>>,
    pools: RwLock<()>,
    capacity: Mutex<()>,
}

impl Locks {
    /// A machine's next turn. It waits in a queue, and not for ever.
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

    /// Volumes are made and deleted.
    pub fn volumes(&self) -> RwLockReadGuard<'_, ()> {
        self.pools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pools are refreshed, images deleted: nobody makes volumes meanwhile.
    pub fn pools(&self) -> RwLockWriteGuard<'_, ()> {
        self.pools.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Capacity is checked and a domain defined.
    pub fn capacity(&self) -> MutexGuard<'_, ()> {
        self.capacity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
