//! Who is woken by what. Missed wake-ups cost time, not correctness: every reconcile starts from
//! what is there.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN, LABEL_CLUSTER};
use crate::api::{Cluster, Host, Machine, MachineClass, MachineDeployment, MachineSet};
use crate::store::{Change, Hook, Indexed, Key, Stores, Wakers};

/// A Cluster wakes itself and its profile; its Machines only when something changed that they
/// look at, for there may be many.
pub fn cluster(stores: Arc<Stores>, wakers: Wakers) -> Hook<Cluster> {
    Box::new(move |cluster, before, _| {
        wakers.clusters.wake_object(cluster);
        wakers.profiles.wake_object(cluster);
        if before.is_some_and(|before| same_for_machines(before, cluster)) {
            return;
        }
        let namespace = cluster.namespace().unwrap_or_default();
        for machine in stores
            .machines
            .by(&Key::Cluster(namespace, cluster.name_any()))
        {
            wakers.machines.wake_object(&machine);
        }
    })
}

/// Whether two states of a Cluster look the same to its Machines.
fn same_for_machines(before: &Cluster, after: &Cluster) -> bool {
    let facts = |cluster: &Cluster| {
        let annotation = |key: &str| cluster.annotations().get(key).cloned();
        let endpoint = cluster
            .status
            .as_ref()
            .and_then(|status| status.endpoint.clone());
        let paused = annotation(crate::api::names::ANNOTATION_PAUSED);
        let marks = (
            annotation(ANNOTATION_INITIALIZED),
            annotation(ANNOTATION_TURN),
            paused,
        );
        let status = cluster.status.as_ref();
        let version = status.and_then(|status| status.version.clone());
        let certificates = status
            .is_some_and(|s| crate::api::conditions::is_true(&s.conditions, "CertificatesReady"));
        let deleted = cluster.metadata.deletion_timestamp.clone();
        (
            cluster.metadata.generation,
            deleted,
            marks,
            endpoint,
            version,
            certificates,
        )
    };
    facts(before) == facts(after)
}

/// A Machine wakes itself, its set, its Cluster, its class and the Host that it holds.
pub fn machine(stores: Arc<Stores>, wakers: Wakers) -> Hook<Machine> {
    Box::new(move |machine, before, change| {
        let namespace = machine.namespace().unwrap_or_default();
        wakers.machines.wake_object(machine);
        if change == Change::Deleted {
            wake_control_plane(&stores, &wakers, machine, &namespace);
        }
        for owner in machine
            .owner_references()
            .iter()
            .filter(|owner| owner.kind == "MachineSet")
        {
            wakers.machine_sets.wake(&namespace, &owner.name);
        }
        if machine.owner_references().is_empty() {
            for set in stores.machine_sets.within(&namespace) {
                wakers.machine_sets.wake_object(&set);
            }
        }
        if let Some(cluster) = machine.labels().get(LABEL_CLUSTER) {
            wakers.clusters.wake(&namespace, cluster);
        }
        if before.is_none() || change == Change::Deleted {
            wake_class(&wakers, &namespace, &machine.spec.provider_spec);
        }
    })
}

/// The control plane of a cluster that goes waits for its last worker.
fn wake_control_plane(stores: &Stores, wakers: &Wakers, gone: &Machine, namespace: &str) {
    let Some(cluster) = gone.labels().get(LABEL_CLUSTER) else {
        return;
    };
    let machines = stores
        .machines
        .by(&Key::Cluster(namespace.to_owned(), cluster.clone()));
    for machine in machines.iter().filter(|machine| machine.is_control_plane()) {
        wakers.machines.wake_object(machine);
    }
}

/// A MachineSet wakes itself, its MachineDeployment, its Cluster and its class.
pub fn machine_set(_: Arc<Stores>, wakers: Wakers) -> Hook<MachineSet> {
    Box::new(move |set, before, change| {
        let namespace = set.namespace().unwrap_or_default();
        wakers.machine_sets.wake_object(set);
        for owner in set
            .owner_references()
            .iter()
            .filter(|o| o.kind == "MachineDeployment")
        {
            wakers.machine_deployments.wake(&namespace, &owner.name);
        }
        if before.is_none() || change == Change::Deleted {
            wake_class(&wakers, &namespace, &set.spec.template.spec.provider_spec);
        }
        if let Some(cluster) = set.labels().get(LABEL_CLUSTER) {
            wakers.clusters.wake(&namespace, cluster);
        }
    })
}

/// A MachineDeployment wakes itself, its Cluster and its class.
pub fn machine_deployment(_: Arc<Stores>, wakers: Wakers) -> Hook<MachineDeployment> {
    Box::new(move |deployment, _, _| {
        let namespace = deployment.namespace().unwrap_or_default();
        wakers.machine_deployments.wake_object(deployment);
        if let Some(cluster) = deployment.labels().get(LABEL_CLUSTER) {
            wakers.clusters.wake(&namespace, cluster);
        }
        wake_class(
            &wakers,
            &namespace,
            &deployment.spec.template.spec.provider_spec,
        );
    })
}

/// A MachineClass wakes itself and all that use it.
pub fn machine_class(stores: Arc<Stores>, wakers: Wakers) -> Hook<MachineClass> {
    Box::new(move |class, _, _| {
        let key = Key::Class(class.namespace().unwrap_or_default(), class.name_any());
        wakers.machine_classes.wake_object(class);
        stores
            .machine_deployments
            .by(&key)
            .iter()
            .for_each(|d| wakers.machine_deployments.wake_object(d));
        stores
            .machine_sets
            .by(&key)
            .iter()
            .for_each(|set| wakers.machine_sets.wake_object(set));
        stores
            .machines
            .by(&key)
            .iter()
            .for_each(|machine| wakers.machines.wake_object(machine));
    })
}

/// A Host wakes itself, its twins, its credentials, the Machine that holds or held it, and, when it is free, all
/// Machines of its namespace that hold none.
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
                for name in host.spec.credentials() {
                    wakers.credentials.wake(&namespace, name);
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

/// What a Host must have alone and got or lost concerns the others that have it.
fn wake_twins(stores: &Stores, wakers: &Wakers, now: Option<&Host>, then: Option<&Host>) {
    let own = |host: Option<&Host>| -> Vec<Key> {
        let mut keys = host.map(Indexed::keys).unwrap_or_default();
        keys.retain(|key| matches!(key, Key::Address(_) | Key::MachineId(_) | Key::Hostname(..)));
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
    Box::new(move |secret, _, _| {
        wakers.credentials.wake_object(secret);
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

fn wake_class(wakers: &Wakers, namespace: &str, spec: &crate::api::ProviderSpec) {
    let class = spec
        .value_from
        .as_ref()
        .and_then(|source| source.machine_class.as_ref());
    if let Some(class) = class {
        wakers.machine_classes.wake(namespace, &class.name);
    }
}
