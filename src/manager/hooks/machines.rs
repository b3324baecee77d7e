//! Wake-ups by changes of Machines, of their sets and deployments, and of their classes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;

use super::{is_pause_news, wake_classes};
use crate::controllers::machine::settings::next;
use crate::controllers::skew;
use crate::manager::gateways::wake_waiting;
use crate::store::{Change, Hook, Key, Stores, Wakers};
use tatara_core::api::conditions::{ConditionType, Reason, find, is_true};
use tatara_core::api::machine_stage::TurnRequest;
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use tatara_core::api::{ClusterProviderSpec, Machine, MachineClass, MachineDeployment, MachineSet};
use tatara_core::machine::is_begun;
use tatara_core::machine::reported::has_fields;
use tatara_core::machine_deployment::has_control_plane;
use tatara_core::settings;

/// Changes of several Machines within this time wake their set once; deletions of workers wake
/// those waiting for all once.
const SEVERAL: Duration = Duration::from_millis(250);
/// Changes of several workers within this time, which grows too, wake their Cluster once, which
/// counts them.
const COUNTED: Duration = Duration::from_secs(1);
/// A pass over a set reads all its Machines, so the time grows by this much for each of them,
const EACH: Duration = Duration::from_micros(75);
/// up to this limit, which keeps the status current.
const AT_MOST: Duration = Duration::from_secs(1);

/// A Machine wakes itself, its set, its Cluster, its class and, when it is deleted, the Host that
/// it held.
pub fn machine(stores: Arc<Stores>, wakers: Wakers) -> Hook<Machine> {
    Box::new(move |machine, before, change| {
        let namespace = machine.namespace().unwrap_or_default();
        wakers.machines.wake_object(machine);
        if change == Change::Deleted {
            wake_host(&stores, &wakers, machine);
        }
        if before.is_some_and(|before| asks(before) != asks(machine)) {
            wake_planner(&wakers, machine, &namespace);
        }
        if change == Change::Deleted || before.is_some_and(|before| has_begun(before, machine)) {
            wake_control_plane(&stores, &wakers, machine, &namespace);
        }
        let planes = |machine: &Machine| machine.versions().and_then(|v| v.control_plane.clone());
        let is_going = |machine: &Machine| machine.metadata.deletion_timestamp.is_some();
        let moves = |machine: &Machine| planes(machine).filter(|_| !is_going(machine));
        if planes(machine).is_some() && before.is_some_and(|before| moves(before) != moves(machine))
        {
            wake_pools(
                &stores,
                &wakers,
                machine.labels().get(LABEL_CLUSTER),
                &namespace,
            );
        }
        if machine.is_control_plane() && before.is_some_and(|before| ends_update(before, machine)) {
            wake_followers(&stores, &wakers, machine, &namespace);
        }
        let follows = |machine: &Machine| settings::is_unfinished(machine);
        if before.is_some_and(follows) && (change == Change::Deleted || !follows(machine)) {
            wake_next(&stores, &wakers, machine, &namespace);
        }
        if before.is_some_and(|before| health(before) != health(machine)) {
            wake_host(&stores, &wakers, machine);
        }
        // the former set has to count its Machines again
        let owners = before.map(ResourceExt::owner_references).into_iter();
        let owners = owners.chain([machine.owner_references()]).flatten();
        let owners: BTreeSet<_> = owners
            .filter(|owner| owner.kind == "MachineSet")
            .map(|owner| (&owner.name, &owner.uid))
            .collect();
        for (owner, uid) in owners {
            // others wait for the end of an update, and few end at a time
            let time = if before.is_some_and(|before| ends_update(before, machine)) {
                Duration::ZERO
            } else {
                together(stores.machines.count(&Key::Owner(uid.clone())))
            };
            wakers.machine_sets.wake_within(&namespace, owner, time);
        }
        if !machine.is_owned() {
            for set in stores.machine_sets.within(&namespace) {
                wakers.machine_sets.wake_object(&set);
            }
            if machine.is_control_plane() {
                wake_adopters(&stores, &wakers, machine, &namespace);
            }
        }
        if let Some(cluster) = machine.labels().get(LABEL_CLUSTER) {
            let is_waiting = || {
                let cluster = stores.clusters.get(&namespace, cluster);
                cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_some())
            };
            let count = || {
                let key = Key::Cluster(namespace.clone(), cluster.clone());
                stores.machines.count(&key)
            };
            let time = match change {
                _ if machine.is_control_plane() => Duration::ZERO,
                Change::Deleted if is_waiting() => together(count()),
                _ => COUNTED.saturating_add(AT_MOST.min(grows(count()))),
            };
            wakers.clusters.wake_within(&namespace, cluster, time);
        }
        wake_hypervisors(&stores, &wakers, machine, before, change);
        let before = before.map(|before| &before.spec.provider_spec);
        let now = &machine.spec.provider_spec;
        wake_classes(&wakers, &namespace, now, before, change);
    })
}

/// The version to which control planes of a Cluster move is another: sets of workers, and rolls,
/// wait for them, or do no longer.
fn wake_pools(stores: &Stores, wakers: &Wakers, cluster: Option<&String>, namespace: &str) {
    if let Some(cluster) = cluster {
        let key = Key::Cluster(namespace.to_owned(), cluster.clone());
        for set in stores.machine_sets.by(&key) {
            wakers.machine_sets.wake_object(&set);
        }
        for deployment in skew::deployments_of(stores, namespace, cluster) {
            wakers.machine_deployments.wake_object(&deployment);
        }
    }
}

/// Its node has the settings of its Cluster: the next one follows them.
fn wake_next(stores: &Stores, wakers: &Wakers, machine: &Machine, namespace: &str) {
    let name = machine.labels().get(LABEL_CLUSTER);
    let cluster = name.and_then(|name| stores.clusters.get(namespace, name));
    let next = cluster.and_then(|cluster| {
        let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref()).ok()?;
        next(stores, &cluster, &spec)
    });
    if let Some(next) = next {
        wakers.machines.wake_object(&next);
    }
}

/// A control-plane Machine without a controller wakes the deployments of control planes, one of
/// which may adopt it.
fn wake_adopters(stores: &Stores, wakers: &Wakers, machine: &Machine, namespace: &str) {
    let cluster = machine.labels().get(LABEL_CLUSTER);
    let deployments = stores.machine_deployments.within(namespace);
    let may_adopt = |deployment: &MachineDeployment| {
        let of = deployment.labels().get(LABEL_CLUSTER);
        has_control_plane(&deployment.spec.template) && of.is_none_or(|of| Some(of) == cluster)
    };
    for deployment in deployments.iter().filter(|one| may_adopt(one)) {
        wakers.machine_deployments.wake_object(deployment);
    }
}

/// The time within which changes wake an object with so many Machines only once.
fn together(machines: usize) -> Duration {
    AT_MOST.min(SEVERAL.saturating_add(grows(machines)))
}

fn grows(machines: usize) -> Duration {
    EACH.saturating_mul(u32::try_from(machines).unwrap_or(u32::MAX))
}

/// A Hypervisor counts its Machines, and it and its credential are protected while there are any.
/// Capacity that a Machine releases is offered to waiting ones.
fn wake_hypervisors(
    stores: &Stores,
    wakers: &Wakers,
    machine: &Machine,
    before: Option<&Machine>,
    change: Change,
) {
    let place = |machine: &Machine| machine.annotations().get(ANNOTATION_HYPERVISOR).cloned();
    let (now, then) = (place(machine), before.and_then(place));
    if change == Change::Applied && now == then {
        return;
    }
    let namespace = machine.namespace().unwrap_or_default();
    if then.is_some() || (now.is_some() && change == Change::Deleted) {
        wake_waiting(stores, wakers, &namespace);
    }
    for name in now.iter().chain(&then) {
        wakers.hypervisors.wake(&namespace, name);
        if let Some(hypervisor) = stores.hypervisors.get(&namespace, name) {
            let secret = &hypervisor.spec.credentials_ref.name;
            wakers.gateway_credentials.wake(&namespace, secret);
        }
    }
}

fn wake_host(stores: &Stores, wakers: &Wakers, machine: &Machine) {
    let held = Key::Claim(machine.uid().unwrap_or_default());
    for host in stores.hosts.by(&held) {
        wakers.hosts.wake_object(&host);
    }
}

/// The reachability of a Machine: the controller of an unreachable host contacts its BMC.
fn health(machine: &Machine) -> [Option<&str>; 2] {
    let conditions = machine.status.as_ref().map(|s| s.conditions.as_slice());
    let conditions = conditions.unwrap_or_default();
    [
        ConditionType::InfrastructureReady,
        ConditionType::NodeHealthy,
    ]
    .map(|name| find(conditions, name).map(|condition| condition.reason.as_str()))
}

/// Whether kubeadm is started for a control-plane Machine, of which the others learn the address;
/// or it says of another version that it runs that, for which one of them may wait.
fn has_begun(before: &Machine, machine: &Machine) -> bool {
    let runs = |machine: &Machine| {
        let status = machine.status.as_ref()?;
        status.versions.as_ref()?.control_plane.clone()
    };
    let begins = is_begun(machine) && !is_begun(before);
    machine.is_control_plane() && (begins || runs(before) != runs(machine))
}

fn ends_update(before: &Machine, machine: &Machine) -> bool {
    let is_updated = |machine: &Machine| {
        let status = machine.status.as_ref();
        status.is_some_and(|status| is_true(&status.conditions, ConditionType::Updating))
    };
    is_updated(before) && !is_updated(machine)
}

/// A control plane is updated: workers follow that wait for its version, or for its turn to be
/// over.
fn wake_followers(stores: &Stores, wakers: &Wakers, machine: &Machine, namespace: &str) {
    let Some(cluster) = machine.labels().get(LABEL_CLUSTER) else {
        return;
    };
    let waits = |machine: &Machine| {
        let status = machine.status.as_ref();
        let said = status.and_then(|status| find(&status.conditions, ConditionType::UpToDate));
        said.is_some_and(|said| said.reason == Reason::VersionSkew)
    };
    let key = Key::Cluster(namespace.to_owned(), cluster.clone());
    for machine in stores.machines.by(&key).iter().filter(|one| waits(one)) {
        wakers.machines.wake_object(machine);
    }
}

/// What a Machine asks the turn for, and whether this release has written that.
fn asks(machine: &Machine) -> Option<(&TurnRequest, bool)> {
    let status = machine.status.as_ref()?;
    Some((status.turn_request.as_ref()?, has_fields(status)))
}

/// The planner of its control plane gives the turn to a Machine that asks for it.
fn wake_planner(wakers: &Wakers, machine: &Machine, namespace: &str) {
    if let Some(cluster) = machine.labels().get(LABEL_CLUSTER) {
        wakers.planners.wake(namespace, cluster);
    }
}

/// The control plane of a Cluster in deletion waits until its last worker is deleted; its machines
/// know of each other.
fn wake_control_plane(stores: &Stores, wakers: &Wakers, gone: &Machine, namespace: &str) {
    let Some(cluster) = gone.labels().get(LABEL_CLUSTER) else {
        return;
    };
    let key = Key::ControlPlane(namespace.to_owned(), cluster.clone());
    for machine in stores.machines.by(&key) {
        wakers
            .machines
            .wake_within(namespace, &machine.name_any(), SEVERAL);
    }
}

/// A MachineSet wakes itself, its MachineDeployment, its Cluster and its class; and its Machines
/// when it is paused or resumed.
pub fn machine_set(stores: Arc<Stores>, wakers: Wakers) -> Hook<MachineSet> {
    Box::new(move |set, before, change| {
        let namespace = set.namespace().unwrap_or_default();
        wakers.machine_sets.wake_edited(set, before);
        for owner in set
            .owner_references()
            .iter()
            .filter(|o| o.kind == "MachineDeployment")
        {
            wakers.machine_deployments.wake(&namespace, &owner.name);
        }
        if is_pause_news(set, before, change) {
            wake_machines_of(&stores, &wakers, set);
        }
        let before = before.map(|before| &before.spec.template.spec.provider_spec);
        let now = &set.spec.template.spec.provider_spec;
        wake_classes(&wakers, &namespace, now, before, change);
        if let Some(cluster) = set.labels().get(LABEL_CLUSTER) {
            wakers.clusters.wake(&namespace, cluster);
        }
    })
}

fn wake_machines_of(stores: &Stores, wakers: &Wakers, set: &MachineSet) {
    let owned = Key::Owner(set.uid().unwrap_or_default());
    for machine in stores.machines.by(&owned) {
        wakers.machines.wake_object(&machine);
    }
}

/// A MachineDeployment wakes itself, its Cluster and its class; and its sets and their Machines
/// when it is paused or resumed.
pub fn machine_deployment(stores: Arc<Stores>, wakers: Wakers) -> Hook<MachineDeployment> {
    Box::new(move |deployment, before, change| {
        let namespace = deployment.namespace().unwrap_or_default();
        wakers.machine_deployments.wake_edited(deployment, before);
        if let Some(cluster) = deployment.labels().get(LABEL_CLUSTER) {
            wakers.clusters.wake(&namespace, cluster);
        }
        let planes = |deployment: &MachineDeployment| {
            let versions = deployment.spec.template.spec.versions.as_ref();
            versions.and_then(|versions| versions.control_plane.clone())
        };
        let is_over = change == Change::Deleted && planes(deployment).is_some();
        if is_over || before.is_some_and(|before| planes(before) != planes(deployment)) {
            let name = skew::name_of_cluster(deployment);
            wake_pools(&stores, &wakers, name, &namespace);
        }
        if is_pause_news(deployment, before, change) {
            let owned = Key::Owner(deployment.uid().unwrap_or_default());
            for set in stores.machine_sets.by(&owned) {
                wakers.machine_sets.wake_object(&set);
                wake_machines_of(&stores, &wakers, &set);
            }
        }
        let before = before.map(|before| &before.spec.template.spec.provider_spec);
        let now = &deployment.spec.template.spec.provider_spec;
        wake_classes(&wakers, &namespace, now, before, change);
    })
}

/// A MachineClass wakes itself and all objects that use it.
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
