//! Gathers the facts for a pass over a Host. The host is contacted unless its Machine's controller
//! does so.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::{Hosts, guard, power, released};
use crate::controllers::machine::recorded_cluster;
use crate::providers::install;
use crate::providers::ssh::claims;
use tatara_core::api::conditions::{ConditionType, Reason, Status, find, is_true};
use tatara_core::api::host::HostFacts;
use tatara_core::api::names::{ANNOTATION_HOST, ANNOTATION_INITIALIZED, provider_ids};
use tatara_core::api::{Host, Machine};
use tatara_core::claim;
use tatara_core::host::guard::{guards, may_have, was_let_go};
use tatara_core::host::plan::is_fresh;
use tatara_core::host::{Consumer, Contact, DuplicateHosts, Observed, Owner, is_same_server};
use tatara_core::machine::is_begun;
use tatara_core::node::{self, Job, JobKind, Marker, Observation, Ownership};
use tatara_core::proof::InitProof;

/// Gathers the facts for a pass over a Host.
pub async fn observe(controller: &Hosts, host: Arc<Host>, now: Timestamp) -> Observed {
    let consumer = host.spec.consumer_ref.clone();
    let machine = claims::machine(&controller.base.stores().machines, &host);
    let rivals = claims::rivals(&controller.base.stores().hosts, &host);
    let is_deleted = host.metadata.deletion_timestamp.is_some();
    let following = consumer
        .as_ref()
        .and_then(|consumer| controller.follows.current(&consumer.uid));
    let is_missed = power::is_missed(&host, machine.as_deref());
    let is_claimed = consumer
        .as_ref()
        .is_some_and(|consumer| !consumer.releasing)
        && host.status.as_ref().is_some_and(|s| s.facts.is_some());
    let heard_at = controller.hosts.heard_at(&host).filter(|_| is_claimed);
    // for a claim without its Machine, the marker on the host decides
    let is_abandoned = consumer.is_some() && machine.is_none();
    let is_asked = is_missed
        || is_deleted
        || is_abandoned
        || !rivals.is_empty()
        || is_of_before(&host, machine.as_deref());
    let is_fresh = heard_at.is_some_and(|at| is_fresh(at, now)) && !is_asked;
    let duplicates = |contact: &Contact| {
        DuplicateHosts::find(&host, facts(contact), |key| {
            controller.base.stores().hosts.by(key)
        })
    };
    let may_ask_bmc = host.spec.bmc.is_some() && duplicates(&Contact::NotAsked).bmc.is_empty();
    let stands = power::Stands::of(&host);
    let installation = install::look(&controller.installs, &host);
    let (contact, first_contact_keys) = if let Some(underway) = &installation {
        let contact = install::ask(&controller.installs, &host, &underway.record, now).await;
        (contact, Vec::new())
    } else if following.is_some() || (is_fresh && !stands.is_off) {
        (Contact::NotAsked, Vec::new())
    } else if may_ask_bmc {
        power::ask(controller, &host, stands, now).await
    } else {
        controller.hosts.ask(&host).await
    };
    if may_ask_bmc {
        power::make_known(controller, &host, now).await;
    }
    // a control plane may have the virtual IP by now: it is asked anew for its addresses
    let is_worker = machine
        .as_deref()
        .is_some_and(|machine| !machine.is_control_plane());
    let claimant = claim::claimant(&host, &controller.base.management).filter(|_| is_worker);
    let has_its_marker = claimant.is_some_and(|machine| is_marked(controller, &host, &machine));
    let marker = match &contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => Some(owner),
            _ => None,
        },
        _ => None,
    };
    let clusters = guard::known(controller, &host, &contact);
    let guards = guards(&host, &contact, machine.is_some(), &clusters);
    let may_guard = may_have(&host, &contact, &clusters);
    let owner_here = owner_here(controller, marker.map(|owner| &owner.marker));
    let unrecorded = match &contact {
        Contact::Seen(seen) if owner_here == Owner::Unknown => unrecorded(controller, &host, seen),
        _ => None,
    };
    let owner = marker.map(|owner| owner.marker.uid.clone());
    Observed {
        duplicates: duplicates(&contact),
        owner: owner_here,
        consumer: consumer_of(controller, machine.as_deref()),
        cluster_goes: released::cluster_that_goes(controller, &host).is_some(),
        stands_in: stands_in(controller, &host, facts(&contact)),
        marked_rival: marked_rival(controller, &host),
        rivals,
        guards,
        may_guard,
        unrecorded,
        attempts: owner
            .map(|uid| controller.follows.attempts(&Job::new(JobKind::Reset, &uid)))
            .unwrap_or_default(),
        management: controller.base.management.clone(),
        bmc: controller.bmcs.last(&host).filter(|_| may_ask_bmc),
        is_missed,
        heard_at,
        has_its_marker,
        has_media: controller.installs.media.is_some(),
        installation,
        following,
        contact,
        first_contact_keys,
        host,
    }
}

fn facts(contact: &Contact) -> Option<&HostFacts> {
    match contact {
        Contact::Seen(seen) => Some(&seen.facts),
        _ => None,
    }
}

/// Whether the condition Clean of a claimed Host is outdated: it is True although its Machine
/// already has a Node.
fn is_of_before(host: &Host, machine: Option<&Machine>) -> bool {
    let is_clean = host.status.as_ref().is_some_and(|status| {
        find(&status.conditions, ConditionType::Clean)
            .is_some_and(|clean| clean.status == Status::True && clean.reason == Reason::Clean)
    });
    let has_node = machine
        .and_then(|machine| machine.status.as_ref())
        .is_some_and(|status| status.node_ref.is_some());
    is_clean && has_node
}

/// Another Host for the same server as one that is being deleted, with the same claim.
fn stands_in(controller: &Hosts, host: &Host, seen: Option<&HostFacts>) -> Option<String> {
    host.metadata.deletion_timestamp.as_ref()?;
    let machine = claim::claimant(host, &controller.base.management)?;
    let others = claims::of(&controller.base.stores().hosts, &machine);
    let other = others
        .iter()
        .find(|other| is_same_server(host, seen, other, |of| is_marked(controller, of, &machine)));
    other.map(|other| other.name_any())
}

/// The other Host that alone had the marker, of all that have the same claim: it answers, and the
/// Machine says that it runs there. Else, as after a disk was copied or moved, a person has to find
/// out.
fn marked_rival(controller: &Hosts, host: &Host) -> Option<String> {
    let stores = controller.base.stores();
    let claimant = claim::claimant(host, &controller.base.management)?;
    let mut marked = claims::of(&stores.hosts, &claimant);
    marked.retain(|of| is_marked(controller, of, &claimant));
    let only = marked.pop().filter(|_| marked.is_empty())?;
    let conditions = only.status.as_ref().map(|status| &status.conditions)?;
    let answers = is_true(conditions, ConditionType::Reachable);
    let stays = only.metadata.deletion_timestamp.is_none();
    let machine = stores.machines.by_uid(&claimant.uid)?;
    let recorded = machine.annotations().get(ANNOTATION_HOST);
    let runs_there = recorded.is_some_and(|name| *name == only.name_any());
    (only.uid() != host.uid() && answers && stays && runs_there).then(|| only.name_any())
}

/// Whether the server of a Host had the marker of this Machine when it was last observed.
pub fn is_marked(controller: &Hosts, host: &Host, machine: &Marker) -> bool {
    let namespace = host.namespace().unwrap_or_default();
    let sighting = controller.hosts.sightings.get(&namespace, &host.name_any());
    let owner = sighting.and_then(|sighting| sighting.owner);
    owner.is_some_and(|owner| owner.is_same_machine(machine))
}

/// The Machine that a marker names, as known in this management cluster.
fn owner_here(controller: &Hosts, marker: Option<&Marker>) -> Owner {
    let stores = controller.base.stores();
    match marker {
        Some(marker) if stores.machines.by_uid(&marker.uid).is_some() => {
            let host = claims::of(&stores.hosts, marker).pop();
            host.map_or(Owner::WithoutHost, |host| Owner::On(host.name_any()))
        }
        _ => Owner::Unknown,
    }
}

fn consumer_of(controller: &Hosts, machine: Option<&Machine>) -> Consumer {
    let Some(machine) = machine else {
        return Consumer::Missing;
    };
    let uid = machine.uid().unwrap_or_default();
    let has_node = || {
        let ids = provider_ids(&uid);
        let clusters = controller
            .base
            .stores()
            .clusters
            .within(&machine.namespace().unwrap_or_default());
        let workloads = clusters
            .iter()
            .filter_map(|cluster| controller.workloads.get(cluster));
        let mut workloads = workloads.into_iter();
        // Nodes that were dropped at a limit may have it
        workloads.any(|workload| {
            let has = workload.has_provider_id(&ids);
            has.unwrap_or_else(|| workload.exceeds_a_limit())
        })
    };
    Consumer::Exists {
        is_deleting: machine.metadata.deletion_timestamp.is_some(),
        is_begun: is_begun(machine)
            || recorded_cluster(controller.base.stores(), &controller.workloads, machine).is_some()
            || has_node(),
    }
}

/// The control plane whose presence the server proves and whose Cluster has no record of it. If
/// another host has the private key of the CA as well, a user has to decide which one counts. After
/// its Machine has released the host it belongs to no Cluster: one created again under the same
/// name may have the same CA.
fn unrecorded(controller: &Hosts, host: &Host, seen: &Observation) -> Option<InitProof> {
    let Ownership::Owner(node::Owner { marker, .. }) = &seen.owner else {
        return None;
    };
    if was_let_go(host, &marker.uid) {
        return None;
    }
    let namespace = host.namespace().filter(|of| *of == marker.namespace)?;
    let cluster = controller
        .base
        .stores()
        .clusters
        .get(&namespace, &marker.cluster)?;
    let known = controller.workloads.known.get(&cluster.uid()?);
    let is_recorded = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    if is_recorded || known.kubeconfig.external || cluster.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let authority = known.authorities?.cluster.fingerprint();
    let made = InitProof::of_host(&controller.base.management, Some(&authority), seen)?;
    let hosts = controller.base.stores().hosts.within(&namespace);
    let mut others = hosts.iter().filter(|other| other.uid() != host.uid());
    let is_alone = !others.any(|other| {
        let sighting = controller
            .hosts
            .sightings
            .get(&namespace, &other.name_any());
        sighting.is_some_and(|sighting| {
            let is_of_us = sighting
                .owner
                .as_ref()
                .is_none_or(|owner| owner.cluster == marker.cluster && owner.uid != marker.uid);
            sighting.authority.as_ref() == Some(&authority) && is_of_us
        })
    });
    is_alone.then_some(made)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_host_that_is_said_to_be_clean_and_runs_a_node_is_asked_again() {
        let host = |status: &str, reason: &str| -> Host {
            let clean = json!({ "type": "Clean", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2027-01-15T08:00:00Z" });
            serde_json::from_value(json!({ "metadata": { "name": "a" }, "status": { "conditions": [clean] },
                "spec": { "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "key" } } } }))
            .expect("a Host")
        };
        let machine = |node: Value| -> Machine {
            serde_json::from_value(json!({ "metadata": { "name": "m" }, "spec": {},
                "status": { "nodeRef": node } }))
            .expect("a Machine")
        };
        let runs = machine(json!({ "kind": "Node", "name": "a" }));
        for (case, host, machine, expected) in [
            ("before", host("True", "Clean"), Some(&runs), true),
            ("said already", host("False", "InUse"), Some(&runs), false),
            (
                "no Node yet",
                host("True", "Clean"),
                Some(&machine(Value::Null)),
                false,
            ),
            ("no Machine", host("True", "Clean"), None, false),
        ] {
            assert_eq!(is_of_before(&host, machine), expected, "{case}");
        }
    }
}

#[cfg(test)]
#[path = "dropped_tests.rs"]
mod dropped_tests;

#[cfg(test)]
#[path = "duplicate_hosts_tests.rs"]
mod twins_tests;
