//! Clears the manager's memory of an object (beside the stores) when it is deleted, or when a user
//! requests a retry.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use super::controllers::Controllers;
use crate::gateway::ConnectionKey;
use crate::store::{Change, Hook};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};
use tatara_core::retry::Retries;

/// All places with memory of objects.
pub struct Memories {
    controllers: Arc<Controllers>,
    /// Values of the retry annotation that were handled.
    retries: Mutex<Retries>,
}

impl Memories {
    /// Starts without handled retries.
    pub fn new(controllers: Arc<Controllers>) -> Self {
        Self {
            controllers,
            retries: Mutex::default(),
        }
    }

    /// Whether a user requests, with a new value of the annotation, that failed operations of an
    /// object are retried at once.
    fn is_retry_asked(&self, object: &impl ResourceExt) -> bool {
        self.retries().take(object)
    }

    fn retries(&self) -> MutexGuard<'_, Retries> {
        self.retries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object with memory beside the stores.
pub trait Forget: Resource<DynamicType = ()> + Sized {
    /// The controllers that count its failures.
    const CONTROLLERS: &'static [&'static str];

    /// Clears memory that a change made obsolete.
    fn forget(&self, _: &Memories, _: Option<&Self>, _: Change) {}
}

/// Clears obsolete memory before it runs the hook, so that woken controllers do not use it.
pub fn forgetting<K: Forget + 'static>(memories: Arc<Memories>, hook: Hook<K>) -> Hook<K> {
    Box::new(move |object, before, change| {
        // memory is kept while the object is unreadable
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
            let sets = &memories.controllers.machine_sets;
            sets.forget(&self.uid().unwrap_or_default());
        }
    }
}

impl Forget for MachineDeployment {
    const CONTROLLERS: &'static [&'static str] = &["machine-deployment"];

    fn forget(&self, memories: &Memories, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let deployments = &memories.controllers.machine_deployments;
            deployments.forget(&self.uid().unwrap_or_default());
        }
    }
}

impl Forget for MachineClass {
    const CONTROLLERS: &'static [&'static str] = &["machine-class"];
}
