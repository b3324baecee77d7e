//! What is asked, just before the turn is taken and before init is started, for evidence that
//! another Machine has run `kubeadm init` for a Cluster: see
//! [`tatara_core::machine::live::init_evidence`].

use std::sync::Arc;

use futures::future::join_all;
use kube::ResourceExt;

use super::observe::recorded_cluster;
use super::turn::Turns;
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{Host, Machine};
use tatara_core::machine::live::init_evidence::{Unread, host, machine, to_ask};
use tatara_core::machine::plan::doubt::{self, ClusterName};
use tatara_core::machine::{Observed, Placement};

/// Limit of concurrent contacts.
const AT_ONCE: usize = 16;

/// Why this Machine may not run `kubeadm init`, if there is evidence that another Machine did.
pub async fn ask(turns: &Turns, observed: &Observed) -> Option<Finding> {
    let marker = &observed.marker;
    let cluster = ClusterName::of(marker);
    let witnessed = |witness| {
        Some(doubt::witnessed(
            ConditionType::BootstrapReady,
            &witness,
            cluster,
        ))
    };
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
        Err(Unread) => Some(doubt::unread(ConditionType::BootstrapReady, cluster)),
    }
}

/// Name of the Host that this Machine holds. Other Hosts may have its UID in a claim that was
/// edited.
fn own(observed: &Observed) -> Option<&String> {
    match &observed.placement {
        Placement::Held(held) if observed.virtual_machine.is_none() => Some(&held.name),
        _ => None,
    }
}

/// Contacts the hosts that were not contacted since this process started. Results, also failures,
/// are recorded immediately.
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
