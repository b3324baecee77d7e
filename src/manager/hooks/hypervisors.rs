//! Wake-ups by changes of Hypervisors and their credentials.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::manager::gateways::wake_waiting;
use crate::store::{Change, Hook, Key, Stores, Wakers};
use tatara_core::api::Hypervisor;

/// A Hypervisor wakes itself and its credentials. If its spec, labels or annotations changed, it
/// also wakes its Machines and those that wait for capacity.
pub fn hypervisor(stores: Arc<Stores>, wakers: Wakers) -> Hook<Hypervisor> {
    Box::new(move |hypervisor, before, change| {
        let namespace = hypervisor.namespace().unwrap_or_default();
        wakers.hypervisors.wake_object(hypervisor);
        for of in before.iter().copied().chain([hypervisor]) {
            wakers
                .gateway_credentials
                .wake(&namespace, &of.spec.credentials_ref.name);
        }
        let use_of = |of: &Hypervisor| {
            (
                of.spec.clone(),
                of.metadata.labels.clone(),
                of.metadata.annotations.clone(),
            )
        };
        if change == Change::Deleted
            || before.is_none_or(|before| use_of(before) != use_of(hypervisor))
        {
            wake_waiting(&stores, &wakers, &namespace);
            let placed = Key::Hypervisor(namespace, hypervisor.name_any());
            for machine in stores.machines.by(&placed) {
                wakers.machines.wake_object(&machine);
            }
        }
    })
}

/// A gateway's credential wakes itself and the Hypervisors that use it.
pub fn gateway_credential(stores: Arc<Stores>, wakers: Wakers) -> Hook<Secret> {
    Box::new(move |secret, _, _| {
        wakers.gateway_credentials.wake_object(secret);
        let key = Key::Secret(secret.namespace().unwrap_or_default(), secret.name_any());
        for hypervisor in stores.hypervisors.by(&key) {
            wakers.hypervisors.wake_object(&hypervisor);
        }
    })
}
