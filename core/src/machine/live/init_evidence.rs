//! Evidence that another Machine has run `kubeadm init` for a Cluster, independent of Cluster and
//! CA Secret: both may have been edited, or restored from a backup.

use std::sync::Arc;

use kube::ResourceExt;

use crate::api::names::{ANNOTATION_SETTINGS, LABEL_CLUSTER};
use crate::api::{Host, Machine};
use crate::machine::plan::doubt::Witness;
use crate::node::Marker;

/// The last observation of a Host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// `sha256:<hex>` of the certificate file of the CA whose key is on the host.
    pub authority: Option<String>,
    /// The Machine that its marker names.
    pub owner: Option<Marker>,
}

/// Another Machine of the Cluster for which kubeadm was started: before init there is nothing to
/// join. As labels can be edited, a control-plane Machine of the namespace that no other Cluster
/// records counts as well. The only evidence for control planes on virtual machines. Control-plane
/// Machines come first: one may be the creator, and is then named.
pub fn machine(
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

/// The Hosts to contact: all but those of running Machines of other Clusters, according to claim
/// and label. Both can be edited, so an observation that such a host has anyway still counts.
pub fn to_ask(
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
pub struct Unread;

/// The first of these Hosts that has the private key of the Cluster's CA (`authority` is its
/// fingerprint). A Host that was not contacted, or did not answer, is no evidence.
///
/// # Errors
/// The certificates of the Cluster are not read yet.
pub fn host(
    hosts: &[Arc<Host>],
    marker: &Marker,
    authority: Option<&str>,
    sighting: impl Fn(&str) -> Option<Sighting>,
    machine_of: impl Fn(&str) -> Option<Arc<Machine>>,
) -> Result<Option<Witness>, Unread> {
    let authority = authority.ok_or(Unread)?;
    let found = hosts.iter().find_map(|host| {
        let sighting = sighting(&host.name_any())?;
        // one CA may serve several Clusters; this Machine's own marker counts: it does not hold
        // that host (any more)
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

#[cfg(test)]
#[path = "init_evidence_tests.rs"]
mod tests;
