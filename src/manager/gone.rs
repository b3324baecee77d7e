//! What the manager remembers of an object beside the stores goes when the object does, or when a person asks for that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use super::controllers::Controllers;
use crate::api::readable::unreadable;
use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};
use crate::core::retry::Retries;
use crate::gateway::ConnectionKey;
use crate::store::{Change, Hook};

/// Who remembers what.
pub struct Memories {
    controllers: Arc<Controllers>,
    /// Who asked that what failed is tried again at once.
    retries: Mutex<Retries>,
}

impl Memories {
    /// Nobody has asked yet.
    pub fn new(controllers: Arc<Controllers>) -> Self {
        Self {
            controllers,
            retries: Mutex::default(),
        }
    }

    /// Whether a person asks, by a new value of the annotation, that what failed of an object is tried again at once.
    fn is_retry_asked(&self, object: &impl ResourceExt) -> bool {
        self.retries().take(object)
    }

    fn retries(&self) -> MutexGuard<'_, Retries> {
        self.retries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object of which more is remembered than the stores hold.
pub trait Forget: Resource<DynamicType = ()> + Sized {
    /// The controllers that count failures of it.
    const CONTROLLERS: &'static [&'static str];

    /// Forgets what does not hold any more after a change.
    fn forget(&self, _: &Memories, _: Option<&Self>, _: Change) {}
}

/// Whatever has to be forgotten, and then the hook: whom it wakes sees what holds now.
pub fn forgetting<K: Forget + 'static>(memories: Arc<Memories>, hook: Hook<K>) -> Hook<K> {
    Box::new(move |object, before, change| {
        // what is remembered outlives the time in which an object cannot be read
        if change == Change::Deleted || unreadable(object).is_none() {
            object.forget(&memories, before, change);
        }
        if change == Change::Deleted {
            let uid = object.uid().unwrap_or_default();
            memories.controllers.base.forget(&uid);
            memories.retries().forget(&uid);
            for controller in K::CONTROLLERS {
                let namespace = object.namespace().unwrap_or_default();
                let key = (*controller, namespace, object.name_any());
                memories.controllers.base.engine.forget(&key);
            }
        }
        hook(object, before, change);
    })
}

impl Forget for Cluster {
    const CONTROLLERS: &'static [&'static str] = &["cluster", "cluster-profile"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            memories.controllers.clusters.forget(self);
            memories.controllers.profiles.forget(self);
        }
    }
}

impl Forget for Machine {
    const CONTROLLERS: &'static [&'static str] = &["machine"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let mut in_flight = memories.controllers.machine_sets.in_flight();
            for owner in self.owner_references() {
                in_flight.settled(&owner.uid, &self.name_any());
            }
            drop(in_flight);
            let machines = &memories.controllers.machines;
            machines.forget(&self.uid().unwrap_or_default());
        } else if memories.is_retry_asked(self) {
            memories.controllers.machines.retry(self);
        }
    }
}

impl Forget for Host {
    const CONTROLLERS: &'static [&'static str] = &["host"];

    fn forget(&self, memories: &Memories, before: Option<&Self>, change: Change) {
        let hosts = &memories.controllers.hosts;
        let is_gone = change == Change::Deleted;
        if is_gone {
            hosts.forget(self);
        } else if memories.is_retry_asked(self) {
            hosts.retry(self);
        }
        if let Some(before) = before {
            hosts.changed(before, self, is_gone);
        }
    }
}

impl Forget for Hypervisor {
    const CONTROLLERS: &'static [&'static str] = &["hypervisor"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let namespace = self.namespace().unwrap_or_default();
            let key = ConnectionKey::new(&namespace, &self.name_any());
            memories.controllers.hypervisors.gateways.disconnect(&key);
        }
    }
}

impl Forget for Secret {
    const CONTROLLERS: &'static [&'static str] = &["credential"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let namespace = self.namespace().unwrap_or_default();
            let hosts = &memories.controllers.hosts.hosts;
            hosts.forget_credential(&namespace, &self.name_any());
        }
    }
}

impl Forget for MachineSet {
    const CONTROLLERS: &'static [&'static str] = &["machine-set"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let mut in_flight = memories.controllers.machine_sets.in_flight();
            in_flight.forget(&self.uid().unwrap_or_default());
        }
    }
}

impl Forget for MachineDeployment {
    const CONTROLLERS: &'static [&'static str] = &["machine-deployment"];
}

impl Forget for MachineClass {
    const CONTROLLERS: &'static [&'static str] = &["machine-class"];
}
