//! One watch per kind, indexed; wakes controllers.
//!
//! kube's own [`reflector::Store`] has no indexes: finding the Machines of a set would scan them
//! all. Here each kind keeps, beside that store, the keys under which its objects are looked up.
//! Reads never leave memory. What is read here may *refuse* an irreversible act, never permit one:
//! that needs a live read.

#[cfg(test)]
mod held;
mod index;
mod item;
mod keys;
mod learn;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::{self, ObjectRef};
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;

use learn::Writing;

pub use crate::core::Key;
pub use index::Index;
pub use item::Item;
pub use keys::Indexed;
pub use learn::Stored;
pub use watch::{Change, Hook, Scope, watch};

use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};

/// The objects of one kind.
pub struct Kind<K: Resource<DynamicType = ()> + Clone + 'static> {
    pub(crate) reader: reflector::Store<K>,
    writing: Mutex<Writing<K>>,
    index: RwLock<Index>,
}

impl<K: Indexed + Clone> Default for Kind<K> {
    fn default() -> Self {
        let (reader, writer) = reflector::store();
        Self {
            reader,
            writing: Mutex::new(Writing::new(writer)),
            index: RwLock::default(),
        }
    }
}

impl<K> Kind<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// kube's own store of the kind, which controllers read their primary object from.
    pub fn reader(&self) -> reflector::Store<K> {
        self.reader.clone()
    }

    /// The object of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.reader.get(&ObjectRef::new(name).within(namespace))
    }

    /// The objects under a key, sorted by name.
    pub fn by(&self, key: &Key) -> Vec<Arc<K>> {
        let names = self
            .index
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .find(key);
        names
            .iter()
            .filter_map(|(namespace, name)| self.get(namespace, name))
            .collect()
    }

    /// All objects of a namespace, sorted by name.
    pub fn within(&self, namespace: &str) -> Vec<Arc<K>> {
        self.by(&Key::Namespace(namespace.to_owned()))
    }

    fn writing(&self) -> MutexGuard<'_, Writing<K>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many objects cannot be read.
    pub fn unreadable(&self) -> usize {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.find(&Key::Unreadable).len()
    }

    /// The first object under a key, as kind and name.
    fn first(&self, key: &Key) -> Option<String> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let (_, name) = index.find(key).into_iter().next()?;
        Some(format!("{} {name}", K::kind(&())))
    }

    /// The object with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<K>> {
        self.by(&Key::Uid(uid.to_owned())).pop()
    }
}

/// Everything that the manager watches in the management cluster.
#[derive(Default)]
pub struct Stores {
    /// Clusters.
    pub clusters: Kind<Cluster>,
    /// Machines.
    pub machines: Kind<Machine>,
    /// MachineSets.
    pub machine_sets: Kind<MachineSet>,
    /// MachineDeployments.
    pub machine_deployments: Kind<MachineDeployment>,
    /// MachineClasses.
    pub machine_classes: Kind<MachineClass>,
    /// Hosts.
    pub hosts: Kind<Host>,
    /// Hypervisors.
    pub hypervisors: Kind<Hypervisor>,
    /// Secrets of type `kubernetes.io/ssh-auth`, and no others.
    pub credentials: Kind<Secret>,
    /// Secrets of type `tatara.dev/gateway`, and no others.
    pub gateway_credentials: Kind<Secret>,
    /// Secrets of type `kubernetes.io/basic-auth`, and no others.
    pub bmc_credentials: Kind<Secret>,
}

impl Stores {
    /// An object of the namespace of which nobody knows whose it is, as kind and name. While there is one,
    /// nothing is done in that namespace.
    pub fn unknown_in(&self, namespace: &str) -> Option<String> {
        let key = Key::UnknownIn(namespace.to_owned());
        let names = [
            self.clusters.first(&key),
            self.machines.first(&key),
            self.machine_sets.first(&key),
            self.machine_deployments.first(&key),
            self.machine_classes.first(&key),
            self.hosts.first(&key),
            self.hypervisors.first(&key),
        ];
        names.into_iter().flatten().next()
    }

    /// Waits until every kind has been listed once: before that, what is missing means nothing.
    pub async fn ready(&self) -> Result<(), reflector::store::WriterDropped> {
        self.clusters.reader.wait_until_ready().await?;
        self.machines.reader.wait_until_ready().await?;
        self.machine_sets.reader.wait_until_ready().await?;
        self.machine_deployments.reader.wait_until_ready().await?;
        self.machine_classes.reader.wait_until_ready().await?;
        self.hosts.reader.wait_until_ready().await?;
        self.hypervisors.reader.wait_until_ready().await?;
        self.gateway_credentials.reader.wait_until_ready().await?;
        self.credentials.reader.wait_until_ready().await?;
        self.bmc_credentials.reader.wait_until_ready().await
    }
}

/// Wakes one controller: what is sent here is passed over soon, once.
pub struct Waker<K: Resource<DynamicType = ()> + 'static>(mpsc::UnboundedSender<Wake<K>>);

/// An object to pass over, and within which time.
pub type Wake<K> = (ObjectRef<K>, Duration);

impl<K: Resource<DynamicType = ()> + 'static> Clone for Waker<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Waker<K> {
    /// A waker, and what its controller listens to.
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<Wake<K>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// A pass over the object of this name, now. After the controller has stopped nothing happens.
    pub fn wake(&self, namespace: &str, name: &str) {
        self.wake_within(namespace, name, Duration::ZERO);
    }

    /// The same, together with whatever else wakes it within this time.
    pub fn wake_within(&self, namespace: &str, name: &str, time: Duration) {
        let object = ObjectRef::new(name).within(namespace);
        self.0.send((object, time)).ok();
    }

    /// A pass over this object, now.
    pub fn wake_object(&self, object: &K) {
        self.wake(&object.namespace().unwrap_or_default(), &object.name_any());
    }
}

/// The wakers of all controllers.
#[derive(Clone)]
pub struct Wakers {
    /// Clusters.
    pub clusters: Waker<Cluster>,
    /// ClusterProfiles, by the Cluster that they stand for.
    pub profiles: Waker<Cluster>,
    /// Machines.
    pub machines: Waker<Machine>,
    /// MachineSets.
    pub machine_sets: Waker<MachineSet>,
    /// MachineDeployments.
    pub machine_deployments: Waker<MachineDeployment>,
    /// MachineClasses.
    pub machine_classes: Waker<MachineClass>,
    /// Hosts.
    pub hosts: Waker<Host>,
    /// Hypervisors.
    pub hypervisors: Waker<Hypervisor>,
    /// Secrets of type `kubernetes.io/ssh-auth`.
    pub credentials: Waker<Secret>,
    /// Secrets of type `tatara.dev/gateway`.
    pub gateway_credentials: Waker<Secret>,
    /// Secrets of type `kubernetes.io/basic-auth`.
    pub bmc_credentials: Waker<Secret>,
}
