//! Reads our own writes: the API server's answer to a write is stored at once, so that the next
//! pass neither conflicts with it nor acts on the state before it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::index::Name;
use super::{Change, Hook, IndexKeys, Kind, Stores};
use tatara_core::api::names::SECRET_TYPE_GATEWAY;
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// Number of deleted objects that are remembered.
const REMEMBERED: usize = 4096;

/// Kinds that a [`Stores`] may hold.
pub trait InStores: IndexKeys + Clone + 'static {
    /// The store of an object, if it is watched.
    fn kind_in<'a>(&self, stores: &'a Stores) -> Option<&'a Kind<Self>>;
}

macro_rules! stored {
    ($($kind:ty => $field:ident),*) => {$(
        impl InStores for $kind {
            fn kind_in<'a>(&self, stores: &'a Stores) -> Option<&'a Kind<Self>> {
                Some(&stores.$field)
            }
        }
    )*};
}

stored!(
    Cluster => clusters,
    Machine => machines,
    MachineSet => machine_sets,
    MachineDeployment => machine_deployments,
    MachineClass => machine_classes,
    Host => hosts,
    Hypervisor => hypervisors
);

impl InStores for Secret {
    fn kind_in<'a>(&self, stores: &'a Stores) -> Option<&'a Kind<Self>> {
        match self.type_.as_deref() {
            Some("kubernetes.io/ssh-auth") => Some(&stores.credentials),
            Some("kubernetes.io/basic-auth") => Some(&stores.bmc_credentials),
            Some(SECRET_TYPE_GATEWAY) => Some(&stores.gateway_credentials),
            _ => None,
        }
    }
}

/// The write side of a [`Kind`]: its watch, and the answers to our own writes.
pub(super) struct Writing<K: Resource<DynamicType = ()> + Clone + 'static> {
    pub(super) writer: Writer<K>,
    /// Called for each change; set when the watch starts.
    pub(super) hook: Option<Hook<K>>,
    /// Whether the list is complete: before that, a missing object may exist.
    is_listed: bool,
    /// The last deleted objects, by UID: a late event does not add one of them again.
    gone: HashSet<String>,
    gone_in_order: VecDeque<String>,
}

impl<K: IndexKeys + Clone> Writing<K> {
    pub(super) fn new(writer: Writer<K>) -> Self {
        Self {
            writer,
            hook: None,
            is_listed: false,
            gone: HashSet::new(),
            gone_in_order: VecDeque::new(),
        }
    }

    /// Adds an object as of its resourceVersion, which may be older than the stored one.
    pub(super) fn applied(&mut self, kind: &Kind<K>, object: &K) {
        let name = name_of(object);
        let before = kind.get(&name.0, &name.1);
        let is_known = before
            .as_deref()
            .is_some_and(|before| !is_newer(object, before));
        if is_known || self.gone.contains(&object.uid().unwrap_or_default()) {
            return;
        }
        self.writer
            .apply_watcher_event(&Event::Apply(object.clone()));
        kind.file(name, object);
        self.tell(object, before.as_deref(), Change::Applied);
    }

    /// Removes an object.
    pub(super) fn deleted(&mut self, kind: &Kind<K>, object: &K) {
        let uid = object.uid().unwrap_or_default();
        if !self.remember_gone(uid) {
            return;
        }
        let name = name_of(object);
        let before = kind.get(&name.0, &name.1);
        // another one of the same name may exist already
        if before
            .as_ref()
            .is_none_or(|before| before.uid() == object.uid())
        {
            kind.index_mut().remove(&name);
            self.writer
                .apply_watcher_event(&Event::Delete(object.clone()));
        }
        self.tell(object, before.as_deref(), Change::Deleted);
    }

    /// Applies a complete list: its objects exist, including deleted ones that a restore brought
    /// back.
    pub(super) fn listed(&mut self, objects: &[Arc<K>]) {
        self.is_listed = true;
        for object in objects {
            self.gone.remove(&object.uid().unwrap_or_default());
        }
        let gone = &self.gone;
        self.gone_in_order.retain(|uid| gone.contains(uid));
    }

    pub(super) fn tell(&self, object: &K, before: Option<&K>, change: Change) {
        if let Some(hook) = &self.hook {
            hook(object, before, change);
        }
    }

    /// Returns whether it changes anything.
    fn remember_gone(&mut self, uid: String) -> bool {
        let is_news = self.gone.insert(uid.clone());
        if is_news {
            self.gone_in_order.push_back(uid);
        }
        if self.gone_in_order.len() > REMEMBERED
            && let Some(oldest) = self.gone_in_order.pop_front()
        {
            self.gone.remove(&oldest);
        }
        is_news
    }
}

impl<K: IndexKeys + Clone> Kind<K> {
    /// Files an object that kube's store has just taken in: the same in both, so that it is in
    /// memory once.
    pub(super) fn file(&self, name: Name, object: &K) {
        let held = self.reader.get(&ObjectRef::from_obj(object));
        let held = held.unwrap_or_else(|| Arc::new(object.clone()));
        self.index_mut().insert(name, object.keys(), held);
    }
}

impl<K: InStores> Kind<K> {
    /// The same object if the stored one is newer than `known`.
    pub fn fresher(&self, known: &K) -> Option<Arc<K>> {
        let (namespace, name) = name_of(known);
        let held = self.get(&namespace, &name)?;
        let is_same = held.uid() == known.uid();
        (is_same && is_newer(held.as_ref(), known)).then_some(held)
    }

    /// Stores the API server's answer to one of our writes.
    pub fn learn(&self, mut object: K) {
        object.managed_fields_mut().clear();
        let mut writing = self.writing();
        if !writing.is_listed {
            return;
        }
        // the last finalizer was removed, or there was none
        if object.meta().deletion_timestamp.is_some() && object.finalizers().is_empty() {
            writing.deleted(self, &object);
        } else {
            writing.applied(self, &object);
        }
    }
}

/// Whether an object is newer than another one of the same name: resourceVersions of one kind are
/// numbers in the order of writes (KEP-5504). If they are not numbers, the incoming object counts
/// as newer.
fn is_newer<K: Resource>(object: &K, known: &K) -> bool {
    let version = |object: &K| {
        object
            .meta()
            .resource_version
            .as_ref()?
            .parse::<u128>()
            .ok()
    };
    match (version(object), version(known)) {
        (Some(new), Some(old)) => new > old,
        _ => true,
    }
}

/// Namespace and name of an object.
pub(super) fn name_of<K: Resource<DynamicType = ()>>(object: &K) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
