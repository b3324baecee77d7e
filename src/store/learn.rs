//! Reads our own writes: what the API server answers to a write stands in the store at once, so that the next pass does
//! not meet it as somebody's conflict, or act on what was before it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::index::Name;
use super::{Change, Hook, Indexed, Kind, Stores};
use crate::api::names::SECRET_TYPE_GATEWAY;
use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};

/// How many objects that are gone are remembered.
const REMEMBERED: usize = 4096;

/// Objects that a [`Stores`] may hold.
pub trait Stored: Indexed + Clone + 'static {
    /// Where an object is held, if it is watched at all.
    fn kind_in<'a>(&self, stores: &'a Stores) -> Option<&'a Kind<Self>>;
}

macro_rules! stored {
    ($($kind:ty => $field:ident),*) => {$(
        impl Stored for $kind {
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

impl Stored for Secret {
    fn kind_in<'a>(&self, stores: &'a Stores) -> Option<&'a Kind<Self>> {
        match self.type_.as_deref() {
            Some("kubernetes.io/ssh-auth") => Some(&stores.credentials),
            Some("kubernetes.io/basic-auth") => Some(&stores.bmc_credentials),
            Some(SECRET_TYPE_GATEWAY) => Some(&stores.gateway_credentials),
            _ => None,
        }
    }
}

/// What writes a [`Kind`]: its watch, and the answers to our own writes.
pub(super) struct Writing<K: Resource<DynamicType = ()> + Clone + 'static> {
    pub(super) writer: Writer<K>,
    /// Called for each change; there is one as soon as the kind is watched.
    pub(super) hook: Option<Hook<K>>,
    /// It was listed: before that, what is missing means nothing.
    is_listed: bool,
    /// The last objects that are gone, by UID: what comes late of one of them makes it no more.
    gone: HashSet<String>,
    gone_in_order: VecDeque<String>,
}

impl<K: Indexed + Clone> Writing<K> {
    pub(super) fn new(writer: Writer<K>) -> Self {
        Self {
            writer,
            hook: None,
            is_listed: false,
            gone: HashSet::new(),
            gone_in_order: VecDeque::new(),
        }
    }

    /// An object is there, as of its resourceVersion. It may be older than what is known.
    pub(super) fn applied(&mut self, kind: &Kind<K>, object: &K) {
        let name = name_of(object);
        let before = kind.get(&name.0, &name.1);
        let is_known = before
            .as_deref()
            .is_some_and(|before| !is_newer(object, before));
        if is_known || self.gone.contains(&object.uid().unwrap_or_default()) {
            return;
        }
        // the index first: what the store shows is found under its keys
        kind.index_mut().insert(&name, object.keys());
        self.writer
            .apply_watcher_event(&Event::Apply(object.clone()));
        self.tell(object, before.as_deref(), Change::Applied);
    }

    /// An object is gone.
    pub(super) fn deleted(&mut self, kind: &Kind<K>, object: &K) {
        let uid = object.uid().unwrap_or_default();
        if !self.remember_gone(uid) {
            return;
        }
        let name = name_of(object);
        let before = kind.get(&name.0, &name.1);
        // another of its name may be there already
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

    /// The kind was listed: these are there, also where they were gone once, as after a restore.
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

    /// Returns whether that is news.
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

impl<K: Stored> Kind<K> {
    /// The same object, where it is held as of later than `known`.
    pub fn fresher(&self, known: &K) -> Option<Arc<K>> {
        let (namespace, name) = name_of(known);
        let held = self.get(&namespace, &name)?;
        let is_same = held.uid() == known.uid();
        (is_same && is_newer(held.as_ref(), known)).then_some(held)
    }

    /// Takes in what the API server answered to a write of ours.
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

/// Whether an object is newer than another of its name: resourceVersions of one kind are numbers in the order of writes
/// (KEP-5504). Where they are not, whatever comes is.
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
