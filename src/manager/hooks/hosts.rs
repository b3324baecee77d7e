//! Wake-ups by changes of Hosts and their credentials.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::store::{Change, Hook, IndexKeys, Key, Stores, Waker, Wakers};
use tatara_core::api::Host;

/// A Host wakes itself, its twins, its credentials, the Machine that holds or held it, and, if it
/// is free, all Machines of its namespace without a Host.
pub fn host(stores: Arc<Stores>, wakers: Wakers) -> Hook<Host> {
    Box::new(move |host, before, change| {
        let namespace = host.namespace().unwrap_or_default();
        wakers.hosts.wake_object(host);
        match change {
            Change::Applied => wake_twins(&stores, &wakers, Some(host), before),
            Change::Deleted => wake_twins(&stores, &wakers, None, Some(host)),
        }
        if before.is_none_or(|before| before.spec != host.spec) || change == Change::Deleted {
            for host in before.iter().copied().chain([host]) {
                for name in host.spec.secrets() {
                    wakers.credentials.wake(&namespace, name);
                    wakers.bmc_credentials.wake(&namespace, name);
                }
            }
        }
        let consumer = |host: &Host| host.spec.consumer_ref.as_ref().map(|c| c.name.clone());
        let (now, then) = (consumer(host), before.and_then(consumer));
        for name in now
            .iter()
            .chain(then.iter().filter(|then| Some(*then) != now.as_ref()))
        {
            wakers.machines.wake(&namespace, name);
        }
        if now.is_none() {
            for machine in stores.machines.within(&namespace) {
                if machine
                    .status
                    .as_ref()
                    .is_none_or(|status| status.host.is_none())
                {
                    wakers.machines.wake_object(&machine);
                }
            }
        }
    })
}

/// A property that must be unique (address, BMC, machine-id, hostname) and that a Host gained or
/// lost wakes its twins.
fn wake_twins(stores: &Stores, wakers: &Wakers, now: Option<&Host>, then: Option<&Host>) {
    let own = |host: Option<&Host>| -> Vec<Key> {
        let mut keys = host.map(IndexKeys::keys).unwrap_or_default();
        keys.retain(|key| {
            matches!(
                key,
                Key::Address(_) | Key::Bmc(_) | Key::MachineId(_) | Key::Hostname(..)
            )
        });
        keys
    };
    let (now, then) = (own(now), own(then));
    let got = now.iter().filter(|key| !then.contains(key));
    let lost = then.iter().filter(|key| !now.contains(key));
    for twin in got.chain(lost).flat_map(|key| stores.hosts.by(key)) {
        wakers.hosts.wake_object(&twin);
    }
}

/// An SSH credential wakes itself and the Hosts that use it.
pub fn credential(stores: Arc<Stores>, wakers: Wakers) -> Hook<Secret> {
    let itself = wakers.credentials.clone();
    secret(stores, wakers, itself)
}

/// The credential of a BMC wakes itself and the Hosts that use it.
pub fn bmc_credential(stores: Arc<Stores>, wakers: Wakers) -> Hook<Secret> {
    let itself = wakers.bmc_credentials.clone();
    secret(stores, wakers, itself)
}

fn secret(stores: Arc<Stores>, wakers: Wakers, itself: Waker<Secret>) -> Hook<Secret> {
    Box::new(move |secret, _, _| {
        // the keys of a virtual machine belong to its Machine
        let owners = secret.owner_references().iter();
        for owner in owners.filter(|owner| owner.kind == "Machine") {
            wakers
                .machines
                .wake(&secret.namespace().unwrap_or_default(), &owner.name);
        }
        itself.wake_object(secret);
        let key = Key::Secret(secret.namespace().unwrap_or_default(), secret.name_any());
        for host in stores.hosts.by(&key) {
            wakers.hosts.wake_object(&host);
            if let Some(consumer) = &host.spec.consumer_ref {
                wakers
                    .machines
                    .wake(&host.namespace().unwrap_or_default(), &consumer.name);
            }
        }
    })
}
