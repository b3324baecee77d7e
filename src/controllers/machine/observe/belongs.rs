//! Which Cluster a Machine belongs to. Its label says so until something was recorded elsewhere: a label can be edited,
//! and with it a Machine would leave the Cluster in which its Node is.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;

use super::super::plan::turn::Both;
use crate::api::names::LABEL_CLUSTER;
use crate::api::{Cluster, Machine};
use crate::controllers::claims;
use crate::node::Marker;
use crate::store::Stores;

/// The Cluster of a Machine: the one that names it as the Machine of its control plane; else that of its claim; else, where
/// that of its label does not have its Node (any more), the only one that does; else that of its label.
pub fn cluster(
    stores: &Stores,
    machine: &Machine,
    both: impl Fn(&Cluster) -> Both,
    has_node: impl Fn(&Cluster) -> bool,
) -> Option<Arc<Cluster>> {
    recorded(stores, machine, both)
        .or_else(|| claimed(stores, machine))
        .or_else(|| with_node(stores, machine, has_node))
        .or_else(|| labelled(stores, machine))
}

/// The Machines that are this Cluster's although their label names another, or none.
pub fn unlabelled(
    stores: &Stores,
    cluster: &Cluster,
    both: impl Fn(&Cluster) -> Both,
    has_node: impl Fn(&Cluster, &Machine) -> bool,
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

/// The Cluster whose control plane the Machine made, or is about to make, by what is recorded there. Its own label's is
/// believed at once. What another says counts where its CA Secret says it too: a Cluster is easily made from the YAML of
/// another, annotations and all, and one that is named twice is named by nobody.
pub fn recorded(
    stores: &Stores,
    machine: &Machine,
    both: impl Fn(&Cluster) -> Both,
) -> Option<Arc<Cluster>> {
    let uid = machine.uid()?;
    if let Some(own) = labelled(stores, machine)
        && names(&both(&own), &uid) != Named::NotAtAll
    {
        return Some(own);
    }
    let mut others = stores.clusters.within(&machine.namespace()?);
    others.retain(|other| names(&both(other), &uid) == Named::BySecret);
    others.pop().filter(|_| others.is_empty())
}

/// How a Cluster names a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    NotAtAll,
    ByItself,
    BySecret,
}

fn names(both: &Both, uid: &str) -> Named {
    let [secret, cluster] = [&both.secret, &both.cluster]
        .map(|marks| marks.has_turn_of(uid) || marks.initialized.as_deref() == Some(uid));
    match (secret, cluster) {
        (true, _) => Named::BySecret,
        (false, true) => Named::ByItself,
        (false, false) => Named::NotAtAll,
    }
}

/// The Cluster that stands in the Machine's claim.
fn claimed(stores: &Stores, machine: &Machine) -> Option<Arc<Cluster>> {
    let namespace = machine.namespace()?;
    let marker = Marker {
        namespace: namespace.clone(),
        machine: machine.name_any(),
        uid: machine.uid()?,
        ..Marker::default()
    };
    let hosts = claims::of(&stores.hosts, &marker);
    let claims = hosts
        .iter()
        .filter_map(|host| host.spec.consumer_ref.as_ref());
    let mut clusters: BTreeSet<&String> = claims.map(|claim| &claim.cluster).collect();
    let only = clusters.pop_first().filter(|_| clusters.is_empty())?;
    stores.clusters.get(&namespace, only)
}

/// The Cluster that has the Node of a Machine which had one, where that of its label does not.
fn with_node(
    stores: &Stores,
    machine: &Machine,
    has_node: impl Fn(&Cluster) -> bool,
) -> Option<Arc<Cluster>> {
    machine.status.as_ref()?.node_ref.as_ref()?;
    if labelled(stores, machine).is_some_and(|own| has_node(&own)) {
        return None;
    }
    let mut others = stores.clusters.within(&machine.namespace()?);
    others.retain(|other| has_node(other));
    others.pop().filter(|_| others.is_empty())
}

fn labelled(stores: &Stores, machine: &Machine) -> Option<Arc<Cluster>> {
    let name = machine.labels().get(LABEL_CLUSTER)?;
    stores.clusters.get(&machine.namespace()?, name)
}

#[cfg(test)]
#[path = "belongs_tests.rs"]
mod tests;
