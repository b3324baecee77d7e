//! Evidence that another Machine has run `kubeadm init` for a Cluster, independent of Cluster and CA Secret: both may
//! have been edited, or restored from a backup. Checked just before the turn is taken, and before init is started.

use std::sync::Arc;

use futures::future::join_all;
use kube::ResourceExt;

use super::observe::recorded_cluster;
use super::turn::Turns;
use crate::api::conditions::Finding;
use crate::api::names::{ANNOTATION_SETTINGS, LABEL_CLUSTER};
use crate::api::{Host, Machine};
use crate::core::machine::plan::BOOTSTRAP;
use crate::core::machine::plan::doubt::{self, ClusterName, Witness};
use crate::core::machine::{Observed, Placement};
use crate::core::node::Marker;
use crate::providers::ssh::Sighting;

/// Limit of concurrent contacts.
const AT_ONCE: usize = 16;

/// Why this Machine may not run `kubeadm init`, if there is evidence that another Machine did.
pub async fn ask(turns: &Turns, observed: &Observed) -> Option<Finding> {
    let marker = &observed.marker;
    let cluster = ClusterName::of(marker);
    let witnessed = |witness| Some(doubt::witnessed(BOOTSTRAP, &witness, cluster));
    let machines = turns.base.stores().machines.within(&marker.namespace);
    let has_ended = |uid: &str| turns.hosts.sightings.has_ended(uid);
    let recorded = |machine: &Machine| {
        recorded_cluster(turns.base.stores(), &turns.workloads, machine).map(|of| of.name_any())
    };
    if let Some(machine) = machine(&machines, marker, has_ended, recorded) {
        return witnessed(machine);
    }
    let uid = &observed.cluster.as_ref()?.uid;
    let authority = turns.workloads.known.get(uid).authorities;
    let authority = authority.map(|authorities| authorities.cluster.fingerprint());
    let machine_of = |uid: &str| turns.base.stores().machines.by_uid(uid);
    let mut hosts = turns.base.stores().hosts.within(&marker.namespace);
    hosts.retain(|host| own(observed) != Some(&host.name_any()));
    if authority.is_some() {
        ask_new(turns, &to_ask(&hosts, marker, machine_of)).await;
    }
    let sighting = |name: &str| turns.hosts.sightings.get(&marker.namespace, name);
    match host(&hosts, marker, authority.as_deref(), sighting, machine_of) {
        Ok(host) => host.and_then(witnessed),
        Err(Unread) => Some(doubt::unread(BOOTSTRAP, cluster)),
    }
}

/// Name of the Host that this Machine holds. Other Hosts may have its UID in a claim that was edited.
fn own(observed: &Observed) -> Option<&String> {
    match &observed.placement {
        Placement::Held(held) if observed.virtual_machine.is_none() => Some(&held.name),
        _ => None,
    }
}

/// Another Machine of the Cluster for which kubeadm was started: before init there is nothing to join. As labels can be
/// edited, a control-plane Machine of the namespace that no other Cluster records counts as well. The only evidence for
/// control planes on virtual machines. Control-plane Machines come first: one may be the creator, and is then named.
fn machine(
    machines: &[Arc<Machine>],
    this: &Marker,
    has_ended: impl Fn(&str) -> bool,
    recorded: impl Fn(&Machine) -> Option<String>,
) -> Option<Witness> {
    let others = machines.iter().filter(|machine| {
        let uid = machine.uid().unwrap_or_default();
        let is_labelled = machine.labels().get(LABEL_CLUSTER) == Some(&this.cluster);
        let may_be_its = || {
            is_labelled
                || (machine.is_control_plane()
                    && recorded(machine).is_none_or(|cluster| cluster == this.cluster))
        };
        uid != this.uid
            && machine.annotations().contains_key(ANNOTATION_SETTINGS)
            && !has_ended(&uid)
            && may_be_its()
    });
    let others: Vec<_> = others.collect();
    let maker = others.iter().find(|machine| machine.is_control_plane());
    let witness = maker.map(|machine| {
        let label = machine.labels().get(LABEL_CLUSTER).cloned();
        let is_its = label.as_ref() == Some(&this.cluster) || recorded(machine).is_some();
        let machine = machine.name_any();
        if is_its {
            Witness::Machine(machine)
        } else {
            Witness::Stray { machine, label }
        }
    });
    witness.or_else(|| Some(Witness::Worker(others.first()?.name_any())))
}

/// The Hosts to contact: all but those of running Machines of other Clusters, according to claim and label. Both can be
/// edited, so an observation that such a host has anyway still counts.
fn to_ask(
    hosts: &[Arc<Host>],
    marker: &Marker,
    machine_of: impl Fn(&str) -> Option<Arc<Machine>>,
) -> Vec<Arc<Host>> {
    let mut hosts = hosts.to_vec();
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
        !runs_in_another
    });
    hosts
}

/// The certificates of the Cluster are not read yet, so that a host's CA key cannot be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unread;

/// The first of these Hosts that has the private key of the Cluster's CA (`authority` is its fingerprint). A Host that
/// was not contacted, or did not answer, is no evidence.
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
        // one CA may serve several Clusters; this Machine's own marker counts: it does not hold that host (any more)
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

/// Contacts the hosts that were not contacted since this process started. Results, also failures, are recorded
/// immediately.
async fn ask_new(turns: &Turns, hosts: &[Arc<Host>]) {
    let mut new = hosts.to_vec();
    new.retain(|host| {
        let namespace = host.namespace().unwrap_or_default();
        let sighting = turns.hosts.sightings.get(&namespace, &host.name_any());
        sighting.is_none()
    });
    for some in new.chunks(AT_ONCE) {
        let asked: Vec<_> = some
            .iter()
            .map(|host| turns.hosts.observe(host.as_ref()))
            .collect();
        join_all(asked).await;
    }
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;
