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
    let cluster = Named::of(&observed.marker);
    let witnessed = |witness| Some(doubt::witnessed(BOOTSTRAP, &witness, cluster));
    if let Some(machine) = machine(context, observed) {
        return witnessed(machine);
    }
    let uid = &observed.cluster.as_ref()?.uid;
    let authority = context.known.get(uid).authorities;
    let authority = authority.map(|authorities| authorities.cluster.fingerprint());
    match host(context, observed, authority).await {
        Ok(host) => host.and_then(witnessed),
        Err(Unread) => Some(doubt::unread(BOOTSTRAP, cluster)),
    }
}

/// Another Machine of the Cluster for which kubeadm was started: before init there is nothing to join.
fn machine(context: &Context, observed: &Observed) -> Option<Witness> {
    let marker = &observed.marker;
    let key = Key::Cluster(marker.namespace.clone(), marker.cluster.clone());
    let machines = context.stores.machines.by(&key);
    let other = machines.iter().find(|machine| {
        let uid = machine.uid().unwrap_or_default();
        uid != observed.uid()
            && !context.hosts.sightings.has_ended(&uid)
            && machine.annotations().contains_key(ANNOTATION_SETTINGS)
    });
    other.map(|machine| Witness::Machine(machine.name_any()))
}

/// A registered host with the key of this Cluster's CA. Those that were not asked since this process started are
/// asked now; one that does not answer cannot say anything.
async fn host(
    context: &Context,
    observed: &Observed,
    authority: Option<String>,
) -> Result<Option<Witness>, Unread> {
    let namespace = &observed.marker.namespace;
    let mut hosts = context.stores.hosts.within(namespace);
    hosts.retain(|host| !is_elsewhere(context, observed, host));
    if authority.is_some() {
        ask_new(context, &hosts).await;
    }
    let sightings = hosts.iter().filter_map(|host| {
        let name = host.name_any();
        let sighting = context.hosts.sightings.get(namespace, &name)?;
        Some((name, sighting))
    });
    with_key(authority.as_deref(), &observed.marker, sightings)
}

/// The certificates of the Cluster are not read yet: nobody can tell whose key a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unread;

/// The first of these Hosts that has the key of the Cluster's CA, whose certificate this is.
fn with_key(
    authority: Option<&str>,
    marker: &Marker,
    mut sightings: impl Iterator<Item = (String, Sighting)>,
) -> Result<Option<Witness>, Unread> {
    let authority = authority.ok_or(Unread)?;
    let found = sightings.find(|(_, sighting)| {
        // one CA may serve several Clusters; this Machine's own counts as well: it is a host that it does not have (any more)
        let is_others = sighting.owner.as_ref().is_some_and(|owner| {
            (&owner.namespace, &owner.cluster) != (&marker.namespace, &marker.cluster)
        });
        sighting.authority.as_deref() == Some(authority) && !is_others
    });
    Ok(found.map(|(name, sighting)| Witness::Host(name, sighting.owner)))
}

/// Asks the hosts that were not asked yet. What one says, and that it does not answer, is taken down as it is asked.
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

/// It is this Machine's own, or that of a running Machine of another Cluster, by its claim and by its label: each can be
/// edited.
fn is_elsewhere(context: &Context, observed: &Observed, host: &Host) -> bool {
    let Some(consumer) = &host.spec.consumer_ref else {
        return false;
    };
    let machine = context.stores.machines.by_uid(&consumer.uid);
    let runs_in_another = |machine: &Machine| {
        let status = machine.status.as_ref();
        let cluster = &observed.marker.cluster;
        machine.labels().get(LABEL_CLUSTER) != Some(cluster)
            && consumer.cluster != *cluster
            && status.is_some_and(|status| status.node_ref.is_some())
    };
    consumer.uid == observed.uid() || machine.is_some_and(|machine| runs_in_another(&machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cluster: &str) -> Marker {
        Marker {
            namespace: "n".into(),
            cluster: cluster.into(),
            machine: "cp".into(),
            ..Marker::default()
        }
    }

    fn sighting(authority: &str, owner: Option<Marker>) -> Sighting {
        Sighting {
            authority: Some(authority.to_owned()),
            owner,
        }
    }

    #[test]
    fn a_host_with_the_key_of_the_ca_is_a_witness_and_before_the_ca_is_read_nobody_can_tell() {
        let witness = |owner| Ok(Some(Witness::Host("h".into(), owner)));
        for (case, authority, seen, says) in [
            (
                "the key",
                Some("x"),
                sighting("x", Some(of("a"))),
                witness(Some(of("a"))),
            ),
            ("no marker", Some("x"), sighting("x", None), witness(None)),
            (
                "another key",
                Some("x"),
                sighting("y", Some(of("a"))),
                Ok(None),
            ),
            (
                "a shared CA",
                Some("x"),
                sighting("x", Some(of("b"))),
                Ok(None),
            ),
            ("no key", Some("x"), Sighting::default(), Ok(None)),
            (
                "the CA is not read",
                None,
                sighting("x", Some(of("a"))),
                Err(Unread),
            ),
            (
                "nor would it matter",
                None,
                Sighting::default(),
                Err(Unread),
            ),
        ] {
            let seen = [("h".to_owned(), seen)].into_iter();
            assert_eq!(with_key(authority, &of("a"), seen), says, "{case}");
        }
        let none = std::iter::empty();
        assert_eq!(with_key(None, &of("a"), none), Err(Unread), "no host yet");
    }
}
