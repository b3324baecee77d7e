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
use crate::store::Key;

/// How many hosts are asked at once.
const AT_ONCE: usize = 16;

/// Why this Machine may not run `kubeadm init`, if something says that another did.
pub async fn ask(context: &Context, observed: &Observed) -> Option<Finding> {
    let witness = match machine(context, observed) {
        Some(machine) => Some(machine),
        None => host(context, observed).await,
    };
    let cluster = Named::of(&observed.marker);
    witness.map(|witness| doubt::witnessed("BootstrapReady", &witness, cluster))
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
async fn host(context: &Context, observed: &Observed) -> Option<Witness> {
    let namespace = &observed.marker.namespace;
    let uid = &observed.cluster.as_ref()?.uid;
    let authority = context.known.get(uid).authorities?.cluster.fingerprint();
    let mut hosts = context.stores.hosts.within(namespace);
    hosts.retain(|host| !is_elsewhere(context, observed, host));
    ask_new(context, &hosts).await;
    hosts.iter().find_map(|host| {
        let name = host.name_any();
        let sighting = context.hosts.sightings.get(namespace, &name)?;
        let owner = sighting.owner;
        // one CA may serve several Clusters; this Machine's own counts as well: it is a host that it does not have (any more)
        let is_others = owner.as_ref().is_some_and(|owner| {
            (&owner.namespace, &owner.cluster) != (namespace, &observed.marker.cluster)
        });
        let has_key = sighting.authority.as_ref() == Some(&authority);
        (has_key && !is_others).then_some(Witness::Host(name, owner))
    })
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

/// It is this Machine's own, or that of a running Machine of another Cluster.
fn is_elsewhere(context: &Context, observed: &Observed, host: &Host) -> bool {
    let Some(consumer) = &host.spec.consumer_ref else {
        return false;
    };
    let machine = context.stores.machines.by_uid(&consumer.uid);
    let runs_in_another = |machine: &Machine| {
        let status = machine.status.as_ref();
        machine.labels().get(LABEL_CLUSTER) != Some(&observed.marker.cluster)
            && status.is_some_and(|status| status.node_ref.is_some())
    };
    consumer.uid == observed.uid() || machine.is_some_and(|machine| runs_in_another(&machine))
}
