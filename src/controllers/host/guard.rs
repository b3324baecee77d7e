//! What is read of the Clusters whose control plane may be on a host: see
//! [`tatara_core::host::guard`].

use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::Hosts;
use crate::controllers::machine::turn;
use crate::engine::ReconcileError;
use crate::store::Item;
use tatara_core::api::cluster::Turn;
use tatara_core::api::{Cluster, Host};
use tatara_core::host::Contact;
use tatara_core::host::guard::{ControlPlaneOrigin, guards, marked, may_be_of_control_plane};

/// The facts about the Clusters in the namespaces of the host and of its marker.
pub fn known(controller: &Hosts, host: &Host, contact: &Contact) -> Vec<ControlPlaneOrigin> {
    let mut namespaces = vec![host.namespace().unwrap_or_default()];
    if let Some((owner, _)) = marked(contact) {
        namespaces.push(owner.marker.namespace.clone());
    }
    namespaces.dedup();
    let clusters = namespaces
        .iter()
        .flat_map(|namespace| controller.base.stores().clusters.within(namespace));
    clusters
        .map(|cluster| {
            let known = controller
                .workloads
                .known
                .get(&cluster.uid().unwrap_or_default());
            let by_secret = known.turn.flatten().and_then(|marks| marks.initialized);
            let authority = known.authorities;
            ControlPlaneOrigin {
                members: known.etcd.and_then(|(read, _)| read.ok()),
                is_external: known.kubeconfig.external,
                by_secret,
                authority: authority.map(|authorities| authorities.cluster.fingerprint()),
                ..ControlPlaneOrigin::of(&cluster)
            }
        })
        .collect()
}

/// Requires that no control plane of a Cluster that is not being deleted is on the host, read live:
/// no member of its etcd is; where no list of the members can be read, none is recorded for the
/// host's claim.
///
/// # Errors
/// `ReconcileError::Conflict` when one is; `Other` when etcd gives no list of its members; `Api`
/// when the Clusters or their CA Secrets cannot be read.
pub async fn must_have_none(
    controller: &Hosts,
    (host, contact): (&Host, &Contact),
    what: &str,
) -> Result<(), ReconcileError> {
    let turns = &controller.turns;
    let Some(claim) = &host.spec.consumer_ref else {
        return Ok(());
    };
    // an undecodable Cluster does not block the others, and its record is in the metadata
    let clusters: Api<Item<Cluster>> =
        Api::namespaced(turns.base.client(), &host.namespace().unwrap_or_default());
    let clusters = clusters.list(&ListParams::default()).await;
    let clusters = clusters.map_err(ReconcileError::api("list the Clusters"))?;
    let mut all = Vec::new();
    for Item(cluster) in &clusters.items {
        let mut made = ControlPlaneOrigin::of(cluster);
        if made.may_be_of(claim) {
            let both = turn::now(turns, cluster).await?;
            made.by.clone_from(&both.cluster.initialized);
            made.by_secret.clone_from(&both.secret.initialized);
            made.has_later_turn = both.holder().is_some_and(Turn::is_later);
            if made.is_made() && may_have_member(controller, host, contact) {
                let members = controller.control_planes.look(cluster).await;
                // no answer is no proof
                let asks = || format!("ask etcd before {what} of Host {}", host.name_any());
                made.members = Some(members.map_err(|why| ReconcileError::other(asks(), why))?);
            }
        }
        all.push(made);
    }
    match guards(host, &Contact::NotAsked, true, &all) {
        None => Ok(()),
        Some(cluster) => Err(ReconcileError::Conflict {
            what: format!(
                "{what} of Host {}, which has the control plane of Cluster {cluster}",
                host.name_any()
            ),
        }),
    }
}

/// Whether the host may be one of a control plane: see [`may_be_of_control_plane`].
pub fn may_have_member(controller: &Hosts, host: &Host, contact: &Contact) -> bool {
    let claim = host.spec.consumer_ref.as_ref();
    claim.is_some_and(|claim| {
        let machine = controller.base.stores().machines.by_uid(&claim.uid);
        may_be_of_control_plane(machine.map(|machine| machine.is_control_plane()), contact)
    })
}
