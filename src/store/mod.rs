//! One watch per kind, indexed; wakes controllers.
//!
//! kube's [`reflector::Store`] has no indexes: finding the Machines of a set would scan them all.
//! Here each kind has, besides that store, the same objects by name and by the keys under which
//! they are found. Reads stay in memory. Cached data may *refuse* an irreversible action, but never
//! permit one: that needs a read from the API server.

#[cfg(test)]
mod held;
mod index;
mod item;
mod keys;
mod learn;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::{self, ObjectRef};
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;

use learn::Writing;

pub use index::Index;
pub use item::Item;
pub use keys::IndexKeys;
pub use learn::InStores;
pub use tatara_core::Key;
pub use watch::{Change, Hook, Scope, watch};

use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// The objects of one kind.
pub struct Kind<K: Resource<DynamicType = ()> + Clone + 'static> {
    pub(crate) reader: reflector::Store<K>,
    writing: Mutex<Writing<K>>,
    index: RwLock<Index<K>>,
    /// How often it was listed.
    lists: AtomicU64,
}

impl<K: IndexKeys + Clone> Default for Kind<K> {
    fn default() -> Self {
        let (reader, writer) = reflector::store();
        Self {
            reader,
            writing: Mutex::new(Writing::new(writer)),
            index: RwLock::default(),
            lists: AtomicU64::new(0),
        }
    }
}

impl<K> Kind<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// kube's store of the kind, from which controllers read their primary object.
    pub fn reader(&self) -> reflector::Store<K> {
        self.reader.clone()
    }

    /// How often the kind was listed. A list may be older than what was known before: it lacks our
    /// last writes until the watch shows them.
    pub fn lists(&self) -> u64 {
        self.lists.load(Ordering::SeqCst)
    }

    /// The object of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let name = (namespace.to_owned(), name.to_owned());
        self.index().get(&name).cloned()
    }

    /// The objects under a key, sorted by name.
    pub fn by(&self, key: &Key) -> Vec<Arc<K>> {
        self.index().by(key).cloned().collect()
    }

    /// How many objects are under a key.
    pub fn count(&self, key: &Key) -> usize {
        self.index().count(key)
    }

    /// All objects of a namespace, sorted by name.
    pub fn within(&self, namespace: &str) -> Vec<Arc<K>> {
        self.by(&Key::Namespace(namespace.to_owned()))
    }

    fn writing(&self) -> MutexGuard<'_, Writing<K>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self) -> RwLockReadGuard<'_, Index<K>> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index<K>> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of objects that fail to decode.
    pub fn unreadable(&self) -> usize {
        self.count(&Key::Unreadable)
    }

    /// The first object under a key, as kind and name.
    fn first(&self, key: &Key) -> Option<String> {
        let first = self.index().by(key).next().cloned()?;
        Some(format!("{} {}", K::kind(&()), first.name_any()))
    }

    /// The object with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<K>> {
        self.by(&Key::Uid(uid.to_owned())).pop()
    }
}

/// All kinds that the manager watches in the management cluster.
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
    /// An unreadable object of the namespace whose owner is unknown, as kind and name. While there
    /// is one, nothing in that namespace is reconciled.
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

    /// Waits until every kind is listed: before that, a missing object may exist.
    ///
    /// # Errors
    /// A watch ended before its list was complete.
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

/// Wakes one controller: it makes a pass over each object that is sent.
pub struct Waker<K: Resource<DynamicType = ()> + 'static>(mpsc::UnboundedSender<Wake<K>>);

/// An object to reconcile, and the time within which other wakes of it are coalesced; `None`: none
/// are.
pub type Wake<K> = (ObjectRef<K>, Option<Duration>);

impl<K: Resource<DynamicType = ()> + 'static> Clone for Waker<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Waker<K> {
    /// A waker, and the receiver of its controller.
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<Wake<K>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Requests a pass over the object of this name soon. Does nothing after the controller has
    /// stopped.
    pub fn wake(&self, namespace: &str, name: &str) {
        self.wake_within(namespace, name, Duration::ZERO);
    }

    /// Requests a pass over the object, coalesced with its other wakes within this time.
    pub fn wake_within(&self, namespace: &str, name: &str, time: Duration) {
        self.send(namespace, name, Some(time));
    }

    fn send(&self, namespace: &str, name: &str, time: Option<Duration>) {
        let object = ObjectRef::new(name).within(namespace);
        self.0.send((object, time)).ok();
    }

    /// Requests a pass over this object: now if its spec is another one, else soon.
    pub fn wake_edited(&self, object: &K, before: Option<&K>) {
        let generation = |object: &K| object.meta().generation;
        if before.map(generation) == Some(generation(object)) {
            return self.wake_object(object);
        }
        let namespace = object.namespace().unwrap_or_default();
        self.send(&namespace, &object.name_any(), None);
    }

    /// Requests a pass over this object soon.
    pub fn wake_object(&self, object: &K) {
        self.wake(&object.namespace().unwrap_or_default(), &object.name_any());
    }
}

/// The wakers of all controllers.
#[derive(Clone)]
pub struct Wakers {
    /// Clusters.
    pub clusters: Waker<Cluster>,
    /// ClusterProfiles, by their Cluster.
    pub profiles: Waker<Cluster>,
    /// The planners of control planes, by their Cluster.
    pub planners: Waker<Cluster>,
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
