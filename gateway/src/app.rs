//! What all requests share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use uuid::Uuid;

use crate::args::Args;
use crate::events::Hub;
use crate::images::Images;
use crate::libvirt::Libvirt;
use crate::libvirt::capacity::Limits;
use crate::machines::Agents;

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
            images: Images::default(),
            agents: Agents::default(),
            hub: Hub::default(),
        }
    }
}

/// Locks, taken by blocking workers only, always in this order: machine, pools, capacity.
#[derive(Default)]
pub struct Locks {
    machines: [Mutex<()>; 32],
    pools: RwLock<()>,
    capacity: Mutex<()>,
}

impl Locks {
    /// One change of a machine at a time: the second delivery of a request finds what the first has done.
    pub fn machine(&self, id: Uuid) -> MutexGuard<'_, ()> {
        let index = usize::from(id.as_bytes()[15]) % self.machines.len();
        self.machines[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
