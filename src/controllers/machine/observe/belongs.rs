//! Which Cluster a Machine belongs to. Its label decides until something is recorded elsewhere: a
//! label can be edited, and would then move the Machine away from the Cluster that has its Node.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;

use crate::controllers::ownership::ProviderObject;
use crate::providers::ssh::claims;
use crate::store::Stores;
use tatara_core::api::names::{LABEL_CLUSTER, LABEL_CONTROL_PLANE};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::turn::Both;
use tatara_core::remedy;

/// The Cluster of a Machine: the one that records it as a Machine of its control plane; else the
/// one of its claim; else the one of its label. If that one does not have its Node (any more), the
/// only Cluster that does.
pub fn cluster(
    stores: &Stores,
    machine: &Machine,
    both: impl Fn(&Cluster) -> Option<Both>,
    has_node: impl Fn(&Cluster) -> Option<bool>,
) -> Option<Arc<Cluster>> {
    recorded(stores, machine, both)
        .or_else(|| with_node(stores, machine, has_node))
        .or_else(|| claimed(stores, machine))
        .or_else(|| labelled(stores, machine))
}

/// The Machines that belong to this Cluster although their label names another, or none.
pub fn unlabelled(
    stores: &Stores,
    cluster: &Cluster,
    both: impl Fn(&Cluster) -> Option<Both>,
    has_node: impl Fn(&Cluster, &Machine) -> Option<bool>,
) -> Vec<Arc<Machine>> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let mut machines = stores.machines.within(&namespace);
    machines.retain(|machine| {
        let has_node = |of: &Cluster| has_node(of, machine);
        let is_its = || self::cluster(stores, machine, &both, has_node);
        machine.labels().get(LABEL_CLUSTER) != Some(&name)
            && is_its().is_some_and(|of| of.uid() == cluster.uid())
    });
    machines
}

/// The Cluster that records the Machine as the creator (or next creator) of its control plane. A
/// record on a Cluster other than that of the label counts only if its CA Secret has it too: a
/// Cluster is easily created from the YAML of another, with annotations. If two Clusters have it,
/// neither counts. A record on the Cluster of the label without its Secret does not count against a
/// Secret.
pub fn recorded(
    stores: &Stores,
    machine: &Machine,
    both: impl Fn(&Cluster) -> Option<Both>,
) -> Option<Arc<Cluster>> {
    let all = namings(stores, machine, &both);
    let own = own(&all, stores, machine);
    let mut by_secret = all.iter().filter(|one| one.named == NamedBy::BySecret);
    if let Some(own) = own.filter(|own| own.named == NamedBy::BySecret) {
        return Some(own.cluster.clone());
    }
    match (by_secret.next(), by_secret.next()) {
        (Some(only), None) => Some(only.cluster.clone()),
        (Some(_), Some(_)) => None,
        (None, _) => own
            .filter(|own| own.named == NamedBy::ByItself)
            .map(|own| own.cluster.clone()),
    }
}

/// Why it is unknown at the moment whose control plane the Machine is. It is not deleted meanwhile:
/// only its Cluster knows whether it holds the last copy of the etcd data. Resolved by a later
/// read, or by a user.
pub fn doubt(
    stores: &Stores,
    machine: &Machine,
    both: impl Fn(&Cluster) -> Option<Both>,
    has_node: impl Fn(&Cluster) -> Option<bool>,
) -> Option<String> {
    let all = namings(stores, machine, &both);
    let own = own(&all, stores, machine);
    let named: Vec<&Naming> = all
        .iter()
        .filter(|n| n.named != NamedBy::NotAtAll)
        .collect();
    let is_own = |one: &Naming| own.is_some_and(|own| own.cluster.uid() == one.cluster.uid());
    // the claim on its host, or its Node, distinguishes its own Cluster from a copy
    let others = || named.iter().filter(|one| !is_own(one));
    let has = |cluster: &Cluster| has_node(cluster) == Some(true);
    let vouched = own.filter(|own| {
        let is_claimed = claimed(stores, machine).is_some_and(|by| by.uid() == own.cluster.uid());
        let has_its_node = has(&own.cluster) && !others().any(|other| has(&other.cluster));
        let is_outdone = others().any(|other| other.named == NamedBy::BySecret);
        let is_believed = own.named == NamedBy::BySecret || !is_outdone;
        own.named != NamedBy::NotAtAll && is_believed && (is_claimed || has_its_node)
    });
    if let [first, second, ..] = named.as_slice()
        && vouched.is_none()
    {
        // the message names the Cluster that is not in its label
        let other = if is_own(first) { second } else { first };
        return Some(format!(
            "Clusters {} and {} both name it as the Machine of their control plane, as when one is made from the YAML of the other; it is not deleted before that is clear. Delete the Cluster that is the copy; or, if the label {LABEL_CLUSTER} was edited, set it back: {}",
            first.cluster.name_any(),
            second.cluster.name_any(),
            label_back(machine, &other.cluster.name_any())
        ));
    }
    // no other Secret could change that
    if vouched.is_some_and(|own| own.named == NamedBy::BySecret) {
        return None;
    }
    if let [only] = named.as_slice()
        && !is_own(only)
        && only.named == NamedBy::ByItself
    {
        let name = only.cluster.name_any();
        return Some(format!(
            "Cluster {name} names it as the Machine of its control plane, and Secret {name}-ca does not, is missing or was not read yet; it is not deleted before that is clear. If Cluster {name} was made from the YAML of another, delete it; if the label {LABEL_CLUSTER} of this Machine was edited, set it back: {}",
            label_back(machine, &name)
        ));
    }
    let is_control_plane =
        machine.is_control_plane() || machine.labels().contains_key(LABEL_CONTROL_PLANE);
    let unread = all
        .iter()
        .find(|one| !one.is_read && one.cluster.metadata.deletion_timestamp.is_none())?;
    let name = unread.cluster.name_any();
    is_control_plane.then(|| match unreadable(unread.cluster.as_ref()) {
        Some(why) => format!(
            "Cluster {name}, which may name it as the Machine of its control plane, cannot be read: {why}; it is not deleted before that Cluster is corrected"
        ),
        None => format!(
            "Secret {name}-ca, which may name it as the Machine of a control plane, was not read since the manager started; it is not deleted before. If this stays, the conditions of Cluster {name} say why"
        ),
    })
}

/// After a Machine has its provider ID, only the manager's account may change its label.
fn label_back(machine: &Machine, cluster: &str) -> String {
    let namespace = machine.namespace().unwrap_or_default();
    remedy::machine::set_cluster(&namespace, &machine.name_any(), cluster)
}

/// A Cluster of ours, and how it records a Machine.
struct Naming {
    cluster: Arc<Cluster>,
    named: NamedBy,
    /// Its CA Secret was read, or found missing.
    is_read: bool,
}

fn namings(
    stores: &Stores,
    machine: &Machine,
    both: &impl Fn(&Cluster) -> Option<Both>,
) -> Vec<Naming> {
    let uid = machine.uid().unwrap_or_default();
    let clusters = stores
        .clusters
        .within(&machine.namespace().unwrap_or_default());
    let ours = clusters
        .into_iter()
        .filter(|cluster| cluster.is_ours(stores));
    ours.map(|cluster| {
        let known = both(&cluster);
        let is_read = known.is_some();
        let known = known.unwrap_or_else(|| Both::unread(&cluster));
        Naming {
            named: names(&known, &uid),
            cluster,
            is_read,
        }
    })
    .collect()
}

fn own<'a>(all: &'a [Naming], stores: &Stores, machine: &Machine) -> Option<&'a Naming> {
    let label = labelled(stores, machine)?;
    all.iter().find(|one| one.cluster.uid() == label.uid())
}

/// How a Cluster records a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedBy {
    NotAtAll,
    ByItself,
    BySecret,
}

fn names(both: &Both, uid: &str) -> NamedBy {
    let [secret, cluster] = [&both.secret, &both.cluster]
        .map(|marks| marks.has_turn_of(uid) || marks.initialized.as_deref() == Some(uid));
    match (secret, cluster) {
        (true, _) => NamedBy::BySecret,
        (false, true) => NamedBy::ByItself,
        (false, false) => NamedBy::NotAtAll,
    }
}

/// The Cluster that the Machine's claim names.
fn claimed(stores: &Stores, machine: &Machine) -> Option<Arc<Cluster>> {
    let namespace = machine.namespace()?;
    let hosts = claims::of_machine(&stores.hosts, machine);
    let claims = hosts
        .iter()
        .filter_map(|host| host.spec.consumer_ref.as_ref());
    let mut clusters: BTreeSet<&String> = claims.map(|claim| &claim.cluster).collect();
    let only = clusters.pop_first().filter(|_| clusters.is_empty())?;
    stores.clusters.get(&namespace, only)
}

/// The Cluster that has the Node of a Machine, if the Cluster that it refers to does not.
fn with_node(
    stores: &Stores,
    machine: &Machine,
    has_node: impl Fn(&Cluster) -> Option<bool>,
) -> Option<Arc<Cluster>> {
    machine.status.as_ref()?.node_ref.as_ref()?;
    // a claim is overruled only if its Cluster is known not to have the Node; a label is weaker, as
    // it is easily edited
    let is_well = match claimed(stores, machine) {
        Some(own) => has_node(&own) != Some(false),
        None => labelled(stores, machine).is_some_and(|own| has_node(&own) == Some(true)),
    };
    if is_well {
        return None;
    }
    let mut others = stores.clusters.within(&machine.namespace()?);
    others.retain(|other| has_node(other) == Some(true));
    others.pop().filter(|_| others.is_empty())
}

fn labelled(stores: &Stores, machine: &Machine) -> Option<Arc<Cluster>> {
    let name = machine.labels().get(LABEL_CLUSTER)?;
    stores.clusters.get(&machine.namespace()?, name)
}

#[cfg(test)]
#[path = "belongs_tests.rs"]
mod tests;
