//! Wakes controllers on events of gateways.

use std::sync::Arc;

use kube::ResourceExt;

use crate::gateway::{ConnectionKey, Registry, Wake};
use crate::store::{Key, Stores, Wakers};

/// A registry whose gateways wake Machines by the ids of their virtual machines.
pub fn registry(stores: Arc<Stores>, wakers: Wakers) -> Registry {
    let machine = {
        let (stores, wakers) = (stores.clone(), wakers.clone());
        Arc::new(move |key: &ConnectionKey, uid: &str| wake_machine(&stores, &wakers, key, uid))
    };
    let hypervisor = {
        let wakers = wakers.clone();
        Arc::new(move |key: &ConnectionKey| wakers.hypervisors.wake(&key.namespace, &key.name))
    };
    let waiting = {
        let (stores, wakers) = (stores.clone(), wakers.clone());
        Arc::new(move |key: &ConnectionKey| {
            wake_waiting(&stores, &wakers, &key.namespace);
            for machine in placed(&stores, key) {
                if machine
                    .status
                    .as_ref()
                    .is_none_or(|status| status.node_ref.is_none())
                {
                    wakers.machines.wake_object(&machine);
                }
            }
        })
    };
    let all = Arc::new(move |key: &ConnectionKey| {
        wakers.hypervisors.wake(&key.namespace, &key.name);
        wake_waiting(&stores, &wakers, &key.namespace);
        for machine in placed(&stores, key) {
            wakers.machines.wake_object(&machine);
        }
    });
    Registry::new(Wake {
        machine,
        waiting,
        hypervisor,
        all,
    })
}

/// Wakes the Machine of a virtual machine, or its Hypervisor if the namespace has no such Machine.
pub fn wake_machine(stores: &Stores, wakers: &Wakers, key: &ConnectionKey, uid: &str) {
    let machine = stores.machines.by_uid(uid);
    match machine.filter(|machine| machine.namespace().as_deref() == Some(&key.namespace)) {
        Some(machine) => wakers.machines.wake_object(&machine),
        None => wakers.hypervisors.wake(&key.namespace, &key.name),
    }
}

fn placed(stores: &Stores, key: &ConnectionKey) -> Vec<Arc<tatara_core::api::Machine>> {
    stores
        .machines
        .by(&Key::Hypervisor(key.namespace.clone(), key.name.clone()))
}

/// Wakes the Machines of a namespace that have no place yet.
pub fn wake_waiting(stores: &Stores, wakers: &Wakers, namespace: &str) {
    for machine in stores.machines.within(namespace) {
        let status = machine.status.as_ref();
        if status.is_none_or(|status| status.host.is_none()) {
            wakers.machines.wake_object(&machine);
        }
    }
}
