//! Who else may have run `kubeadm init` for a Cluster, whatever is written on it and on its CA Secret: both may
//! have been edited, or restored from before. Asked just before the turn is taken, and before init is started.

use std::sync::Arc;

use futures::future::join_all;
use kube::ResourceExt;

use super::observed::Observed;
use super::plan::doubt::{self, Named, Witness};
use crate::api::conditions::Finding;
use crate::api::names::{ANNOTATION_SETTINGS, LABEL_CLUSTER};
use crate::api::{Host, Machine};
use crate::manager::Context;
use crate::node::Marker;
use crate::provider::Sighting;
use crate::store::Key;

/// What the condition of a machine on its way to a Node is called.
const BOOTSTRAP: &str = "BootstrapReady";
/// How many hosts are asked at once.
const AT_ONCE: usize = 16;

/// Why this Machine may not run `kubeadm init`, if something says that another did.
pub async fn ask(context: &Context, observed: &Observed) -> Option<Finding> {
    let marker = &observed.marker;
    let cluster = Named::of(marker);
    let witnessed = |witness| Some(doubt::witnessed(BOOTSTRAP, &witness, cluster));
    let key = Key::Cluster(marker.namespace.clone(), marker.cluster.clone());
    let machines = context.stores.machines.by(&key);
    let has_ended = |uid: &str| context.hosts.sightings.has_ended(uid);
    if let Some(machine) = machine(&machines, observed.uid(), has_ended) {
        return witnessed(machine);
    }
    let uid = &observed.cluster.as_ref()?.uid;
    let authority = context.known.get(uid).authorities;
    let authority = authority.map(|authorities| authorities.cluster.fingerprint());
    let machine_of = |uid: &str| context.stores.machines.by_uid(uid);
    let hosts = context.stores.hosts.within(&marker.namespace);
    let hosts = to_ask(hosts, marker, machine_of);
    if authority.is_some() {
        ask_new(context, &hosts).await;
    }
    let sighting = |name: &str| context.hosts.sightings.get(&marker.namespace, name);
    match host(&hosts, marker, authority.as_deref(), sighting, machine_of) {
        Ok(host) => host.and_then(witnessed),
        Err(Unread) => Some(doubt::unread(BOOTSTRAP, cluster)),
    }
}

/// Another of the Machines of the Cluster for which kubeadm was started: before init there is nothing to join.
fn machine(
    machines: &[Arc<Machine>],
    this: &str,
    has_ended: impl Fn(&str) -> bool,
) -> Option<Witness> {
    let other = machines.iter().find(|machine| {
        let uid = machine.uid().unwrap_or_default();
        uid != this && !has_ended(&uid) && machine.annotations().contains_key(ANNOTATION_SETTINGS)
    });
    other.map(|machine| Witness::Machine(machine.name_any()))
}

/// The Hosts of its namespace that may say something: all but this Machine's own, and those of running Machines of other
/// Clusters, by claim and by label: each can be edited.
fn to_ask(
    mut hosts: Vec<Arc<Host>>,
    marker: &Marker,
    machine_of: impl Fn(&str) -> Option<Arc<Machine>>,
) -> Vec<Arc<Host>> {
    hosts.retain(|host| {
        let Some(consumer) = &host.spec.consumer_ref else {
            return true;
        };
        let runs_in_another = machine_of(&consumer.uid).is_some_and(|machine| {
            let status = machine.status.as_ref();
            machine.labels().get(LABEL_CLUSTER) != Some(&marker.cluster)
                && consumer.cluster != marker.cluster
                && status.is_some_and(|status| status.node_ref.is_some())
        });
        consumer.uid != marker.uid && !runs_in_another
    });
    hosts
}

/// The certificates of the Cluster are not read yet: nobody can tell whose key a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unread;

/// The first of these Hosts that has the key of the Cluster's CA, whose certificate this is. One that was not asked, or
/// did not answer, cannot say anything.
fn host(
    hosts: &[Arc<Host>],
    marker: &Marker,
    authority: Option<&str>,
    sighting: impl Fn(&str) -> Option<Sighting>,
    machine_of: impl Fn(&str) -> Option<Arc<Machine>>,
) -> Result<Option<Witness>, Unread> {
    let authority = authority.ok_or(Unread)?;
    let found = hosts.iter().find_map(|host| {
        let sighting = sighting(&host.name_any())?;
        // one CA may serve several Clusters; this Machine's own counts as well: it is a host that it does not have (any more)
        let is_others = sighting.owner.as_ref().is_some_and(|owner| {
            (&owner.namespace, &owner.cluster) != (&marker.namespace, &marker.cluster)
        });
        let is_witness = sighting.authority.as_deref() == Some(authority) && !is_others;
        is_witness.then_some((host, sighting.owner))
    });
    Ok(found.map(|(host, owner)| {
        let is_claimed = owner.as_ref().is_some_and(|owner| {
            let claim = host.spec.consumer_ref.as_ref();
            claim.is_some_and(|claim| claim.uid == owner.uid) && machine_of(&owner.uid).is_some()
        });
        Witness::Host {
            name: host.name_any(),
            owner,
            is_claimed,
        }
    }))
}

/// Asks the hosts that were not asked yet since this process started. What one says, and that it does not answer, is taken
/// down as it is asked.
async fn ask_new(context: &Context, hosts: &[Arc<Host>]) {
    let mut new = hosts.to_vec();
    new.retain(|host| {
        let namespace = host.namespace().unwrap_or_default();
        let sighting = context.hosts.sightings.get(&namespace, &host.name_any());
        sighting.is_none()
    });
    for some in new.chunks(AT_ONCE) {
        let asked: Vec<_> = some
            .iter()
            .map(|host| context.hosts.observe(host.as_ref()))
            .collect();
        join_all(asked).await;
    }
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;
