//! What the manager remembers of an object beside the stores goes when the object does, or when a person asks for that.

use std::sync::{Arc, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};

use super::context::Context;
use crate::api::readable::unreadable;
use crate::api::{Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet};
use crate::controllers::cluster;
use crate::gateway::ConnectionKey;
use crate::providers::ssh::target::place;
use crate::store::{Change, Hook, Key};

/// An object of which more is remembered than the stores hold.
pub trait Remembered: Resource<DynamicType = ()> + Sized {
    /// The controllers that count failures of it.
    const CONTROLLERS: &'static [&'static str];

    /// Forgets what does not hold any more after a change.
    fn forget(&self, _: &Context, _: Option<&Self>, _: Change) {}
}

/// Whatever has to be forgotten, and then the hook: whom it wakes sees what holds now.
pub fn forgetting<K: Remembered + 'static>(context: Arc<Context>, hook: Hook<K>) -> Hook<K> {
    Box::new(move |object, before, change| {
        // what is remembered outlives the time in which an object cannot be read
        if change == Change::Deleted || unreadable(object).is_none() {
            object.forget(&context, before, change);
        }
        if change == Change::Deleted {
            let uid = object.uid().unwrap_or_default();
            context.unreadable.forget(&uid);
            context.regarded.forget(&uid);
            let retries = context.retries.lock();
            retries.unwrap_or_else(PoisonError::into_inner).forget(&uid);
            for controller in K::CONTROLLERS {
                let namespace = object.namespace().unwrap_or_default();
                let key = (*controller, namespace, object.name_any());
                context.engine.forget(&key);
            }
        }
        hook(object, before, change);
    })
}

impl Remembered for Cluster {
    const CONTROLLERS: &'static [&'static str] = &["cluster", "cluster-profile"];

    fn forget(&self, context: &Context, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            cluster::forget(context, self);
            context.profiles.forget(self);
        }
    }
}

impl Remembered for Machine {
    const CONTROLLERS: &'static [&'static str] = &["machine"];

    fn forget(&self, context: &Context, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let in_flight = context.in_flight.lock();
            let mut in_flight = in_flight.unwrap_or_else(PoisonError::into_inner);
            for owner in self.owner_references() {
                in_flight.settled(&owner.uid, &self.name_any());
            }
            drop(in_flight);
            context.forget_machine(&self.uid().unwrap_or_default());
        } else if context.is_retry_asked(self) {
            let uid = self.uid().unwrap_or_default();
            context.follows.retry(&uid);
            context.providers.libvirt.tries.retry(&uid);
            // the reset of its host is the Host's to try again
            for host in context.stores.hosts.by(&Key::Claim(uid)) {
                context.wakers.hosts.wake_object(&host);
            }
        }
    }
}

impl Remembered for Host {
    const CONTROLLERS: &'static [&'static str] = &["host"];

    fn forget(&self, context: &Context, before: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            context.hosts.forget(self);
            let uid = self.uid().unwrap_or_default();
            context.bmcs.forget(&uid);
            if let Some(media) = &context.installs.media {
                media.revoke(&uid);
            }
        } else if context.is_retry_asked(self) {
            context.hosts.retry(self);
            if let Some(consumer) = &self.spec.consumer_ref {
                context.follows.retry(&consumer.uid);
            }
        }
        let Some(before) = before else { return };
        if place(before) != place(self) {
            context.hosts.forget(before);
        }
        // the reset of a host may outlive the Machine that let it go
        let consumer = |host: &Self| host.spec.consumer_ref.as_ref().map(|c| c.uid.clone());
        let has_let_go = change == Change::Deleted || consumer(before) != consumer(self);
        if let Some(uid) = consumer(before).filter(|_| has_let_go)
            && context.stores.machines.by_uid(&uid).is_none()
        {
            context.follows.forget(&uid);
        }
    }
}

impl Remembered for Hypervisor {
    const CONTROLLERS: &'static [&'static str] = &["hypervisor"];

    fn forget(&self, context: &Context, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let namespace = self.namespace().unwrap_or_default();
            let key = ConnectionKey::new(&namespace, &self.name_any());
            context.gateways.disconnect(&key);
        }
    }
}

impl Remembered for Secret {
    const CONTROLLERS: &'static [&'static str] = &["credential"];

    fn forget(&self, context: &Context, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let namespace = self.namespace().unwrap_or_default();
            context
                .hosts
                .forget_credential(&namespace, &self.name_any());
        }
    }
}

impl Remembered for MachineSet {
    const CONTROLLERS: &'static [&'static str] = &["machine-set"];

    fn forget(&self, context: &Context, _: Option<&Self>, change: Change) {
        if change == Change::Deleted {
            let in_flight = context.in_flight.lock();
            let mut in_flight = in_flight.unwrap_or_else(PoisonError::into_inner);
            in_flight.forget(&self.uid().unwrap_or_default());
        }
    }
}

impl Remembered for MachineDeployment {
    const CONTROLLERS: &'static [&'static str] = &["machine-deployment"];
}

impl Remembered for MachineClass {
    const CONTROLLERS: &'static [&'static str] = &["machine-class"];
}
