//! Whether a host has the control plane of a Cluster that is not being deleted: as shown by its
//! marker, or, whatever the host reports, as recorded on objects. No irreversible action is
//! performed on such a host.

use std::sync::Arc;

use kube::ResourceExt;

use super::Contact;
use crate::api::host::ConsumerRef;
use crate::api::names::ANNOTATION_INITIALIZED;
use crate::api::{Cluster, Host};
use crate::control_plane::Members;
use crate::node::{Observation, Owner, Ownership};

/// The facts about a Cluster, and about the Machine that created its control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlaneOrigin {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// It is being deleted, and its control plane with it.
    pub is_deleting: bool,
    /// Its control plane is external.
    pub is_external: bool,
    /// UID of the Machine that created it, as recorded on the Cluster.
    pub by: Option<String>,
    /// The same, as recorded on its CA Secret.
    pub by_secret: Option<String>,
    /// `sha256:<hex>` of its CA certificate, once it was read.
    pub authority: Option<String>,
    /// The turn is taken for a change that comes after `kubeadm init`: there is a control plane,
    /// though its records may be lost.
    pub has_later_turn: bool,
    /// The members of its etcd, according to the last list that its quorum confirmed.
    pub members: Option<Arc<Members>>,
}

impl ControlPlaneOrigin {
    /// By the objects alone, of a Cluster.
    pub fn of(cluster: &Cluster) -> Self {
        Self {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
            is_deleting: cluster.metadata.deletion_timestamp.is_some(),
            by: cluster.annotations().get(ANNOTATION_INITIALIZED).cloned(),
            ..Self::default()
        }
    }

    /// Whether it is the Cluster of a claim, and stays: what is recorded of it is read live.
    pub fn may_be_of(&self, claim: &ConsumerRef) -> bool {
        self.name == claim.cluster && !self.is_deleting
    }

    /// Whether a control plane of it is recorded, or is being changed: the members of its etcd are
    /// read live.
    pub fn is_made(&self) -> bool {
        self.by.is_some() || self.by_secret.is_some() || self.has_later_turn
    }

    fn is_by(&self, uid: &str) -> bool {
        let all = [&self.by, &self.by_secret];
        all.into_iter().any(|by| by.as_deref() == Some(uid))
    }

    /// Whether its etcd has a member on the host; `None` if that is not known. Told by every
    /// address and name of the host: a person can edit some of them.
    fn has_member_on(&self, host: &Host) -> Option<bool> {
        let members = self.members.as_ref()?;
        let facts = host
            .status
            .as_ref()
            .and_then(|status| status.facts.as_ref());
        let mut addresses = vec![host.spec.ssh.address.as_str()];
        addresses.extend(facts.iter().flat_map(|f| &f.addresses).map(String::as_str));
        let mut names: Vec<&str> = host.metadata.name.as_deref().into_iter().collect();
        names.extend(facts.map(|facts| facts.hostname.as_str()));
        Some(members.of(&addresses, &names).is_some())
    }

    /// Whether the host with this marker, which records a successful `kubeadm init` or join, may
    /// have this control plane: no Machine is recorded, or this one is, or the host has (or may
    /// have) the private key of the CA.
    fn is_on(&self, owner: &Owner, seen: &Observation) -> bool {
        let is_of = (&owner.marker.namespace, &owner.marker.cluster);
        let may_have_key =
            self.authority.is_none() || self.authority.as_deref() == seen.authority.as_deref();
        (owner.initialized || (owner.joined && seen.authority.is_some()))
            && is_of == (&self.namespace, &self.name)
            && (self.by.is_none() || self.is_by(&owner.marker.uid) || may_have_key)
    }
}

/// The Cluster, not being deleted, whose control plane is on the host: a member of its etcd is.
/// Where no list of the members is known, by the marker, or the records. The marker of a deleted
/// Machine that released the host does not count without a record: a Cluster created again with the
/// same name and CA has nothing on this host.
pub fn guards(
    host: &Host,
    contact: &Contact,
    has_machine: bool,
    clusters: &[ControlPlaneOrigin],
) -> Option<String> {
    let claim = host.spec.consumer_ref.as_ref();
    let is_over =
        |uid: &str| !has_machine && claim.is_some_and(|claim| claim.releasing && claim.uid == uid);
    let marked = marked(contact).filter(|(owner, _)| !is_over(&owner.marker.uid));
    let recorded =
        |cluster: &ControlPlaneOrigin| claim.is_some_and(|claim| cluster.is_by(&claim.uid));
    let is_claimed_by =
        |cluster: &ControlPlaneOrigin| claim.is_some_and(|c| c.cluster == cluster.name);
    let has = |cluster: &&ControlPlaneOrigin| {
        let is_on =
            recorded(cluster) || marked.is_some_and(|(owner, seen)| cluster.is_on(owner, seen));
        !cluster.is_deleting
            && match cluster.has_member_on(host) {
                Some(true) => is_on || is_claimed_by(cluster),
                Some(false) => false,
                None => is_on,
            }
    };
    clusters
        .iter()
        .find(has)
        .map(|cluster| cluster.name.clone())
}

/// Whether the Machine with this UID has released the host.
pub fn was_let_go(host: &Host, uid: &str) -> bool {
    let claim = host.spec.consumer_ref.as_ref();
    claim.is_some_and(|claim| claim.releasing && claim.uid == uid)
}

/// The Cluster, not being deleted, whose control plane may be on a host that was not observed: no
/// Machine is recorded.
pub fn may_have(host: &Host, contact: &Contact, clusters: &[ControlPlaneOrigin]) -> Option<String> {
    if matches!(contact, Contact::Seen(_)) {
        return None;
    }
    let claim = host.spec.consumer_ref.as_ref()?;
    let namespace = host.namespace().unwrap_or_default();
    let of = clusters
        .iter()
        .find(|cluster| (&cluster.namespace, &cluster.name) == (&namespace, &claim.cluster))?;
    let is_silent = of.by.is_none() && of.by_secret.is_none();
    (is_silent && !of.is_deleting && !of.is_external).then(|| of.name.clone())
}

/// Whether a host may be one of a control plane: it has the key of a CA, or its Machine is one
/// (`is_control_plane`), or does not exist. That it has no key proves nothing: people take it away
/// from their hosts.
pub fn may_be_of_control_plane(is_control_plane: Option<bool>, contact: &Contact) -> bool {
    let has_key = matches!(contact, Contact::Seen(seen) if seen.authority.is_some());
    has_key || is_control_plane != Some(false)
}

/// Its marker and all that it showed, if it was observed and has one.
pub fn marked(contact: &Contact) -> Option<(&Owner, &Observation)> {
    match contact {
        Contact::Seen(seen) => match &seen.owner {
            Ownership::Owner(owner) => Some((owner, seen)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
