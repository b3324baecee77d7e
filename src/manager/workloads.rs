//! Wakes controllers of the management cluster on events of workload clusters.

use std::sync::Arc;

use crate::providers::simulated::{FindApi, WakeMachine};
use crate::store::{Key, Stores, Wakers};
use crate::workload::{ClusterKey, Registry, Wake};
use tatara_core::api::names;

/// A registry whose workload clusters wake Machines by the provider ID of their Nodes.
pub fn registry(stores: Arc<Stores>, wakers: Wakers) -> Registry {
    let (clusters, all) = (wakers.clone(), stores.clone());
    Registry::new(Wake {
        node: Arc::new(move |_, node| {
            let uid = node.provider_id.as_deref().and_then(names::machine_uid);
            if let Some(machine) = uid.and_then(|uid| stores.machines.by_uid(uid)) {
                wakers.machines.wake_object(&machine);
            }
        }),
        cluster: Arc::new(move |key: &ClusterKey| {
            clusters.clusters.wake(&key.namespace, &key.name);
            clusters.profiles.wake(&key.namespace, &key.name);
            for machine in all
                .machines
                .by(&Key::Cluster(key.namespace.clone(), key.name.clone()))
            {
                clusters.machines.wake_object(&machine);
            }
        }),
    })
}

/// Finds the API of a Cluster for simulated machines.
pub fn find_api(stores: Arc<Stores>, workloads: Arc<Registry>) -> FindApi {
    Arc::new(move |namespace, name| {
        let cluster = stores.clusters.get(namespace, name)?;
        workloads
            .get(&ClusterKey::of(&cluster))
            .map(|workload| workload.client().clone())
    })
}

/// Wakes Machines by name.
pub fn wake_machine(wakers: Wakers) -> WakeMachine {
    Arc::new(move |namespace, name| wakers.machines.wake(namespace, name))
}
