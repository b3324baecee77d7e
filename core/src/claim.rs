//! Which Machine the claim of a Host names: by namespace, UID and name, never by one of these
//! alone. UIDs can be read in provider IDs, and a Host can be made from the YAML of another.

use kube::ResourceExt;

use super::node::Marker;
use crate::api::Host;

/// Whether the claim of a Host is this Machine's.
pub fn is_of(host: &Host, machine: &Marker) -> bool {
    let claim = host.spec.consumer_ref.as_ref();
    host.namespace().unwrap_or_default() == machine.namespace
        && claim.is_some_and(|claim| claim.uid == machine.uid && claim.name == machine.machine)
}

/// The Machine that the claim of a Host names, as its marker would.
pub fn claimant(host: &Host, management: &str) -> Option<Marker> {
    let claim = host.spec.consumer_ref.as_ref()?;
    Some(Marker {
        management: management.to_owned(),
        namespace: host.namespace().unwrap_or_default(),
        cluster: claim.cluster.clone(),
        machine: claim.name.clone(),
        uid: claim.uid.clone(),
    })
}
