//! Whether volumes are still attached to a node: it must not be deleted before they are detached,
//! otherwise they stay attached until the attach/detach controller forces it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};

use super::drain::pods_on;
use super::error::Error;
use tatara_core::drain::plan;

/// Volumes that are attached to a node, without those of pods that a drain does not evict (such as
/// a DaemonSet's, which are never detached). Sorted names of `PersistentVolumes`; the name in the
/// node's status if there is no `VolumeAttachment`. Empty if the node does not exist.
///
/// # Errors
/// The workload cluster refuses a request or does not answer.
pub async fn still_attached(
    client: &Client,
    node: &str,
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    let attachments = Api::<VolumeAttachment>::all(client.clone());
    let listed = attachments.list(&ListParams::default()).await;
    let listed = listed.map_err(|error| Error::new("list the VolumeAttachments", error))?;
    let mut attached = BTreeSet::new();
    for attachment in listed
        .items
        .into_iter()
        .filter(|a| a.spec.node_name == node)
    {
        let name = attachment.metadata.name.unwrap_or_default();
        attached.insert(
            attachment
                .spec
                .source
                .persistent_volume_name
                .unwrap_or(name),
        );
    }
    let mut reported = reported_attached(client, node).await?;
    if attached.is_empty() && reported.is_empty() {
        return Ok(Vec::new());
    }
    let kept_claims = claims_left_by_drain(&pods_on(client, node).await?.0, now);
    for name in attached.clone() {
        let Some(volume) = volume(client, &name).await? else {
            continue;
        };
        if let Some(unique_name) = unique_name(&volume) {
            reported.remove(&unique_name);
        }
        if claim_of(&volume).is_some_and(|claim| kept_claims.contains(&claim)) {
            attached.remove(&name);
        }
    }
    attached.append(&mut reported);
    Ok(attached.into_iter().collect())
}

async fn reported_attached(client: &Client, node: &str) -> Result<BTreeSet<String>, Error> {
    let node = Api::<Node>::all(client.clone()).get_opt(node).await;
    let node = node.map_err(|error| Error::new("read the node", error))?;
    let status = node.and_then(|node| node.status).unwrap_or_default();
    let volumes = status.volumes_attached.unwrap_or_default();
    Ok(volumes.into_iter().map(|volume| volume.name).collect())
}

async fn volume(client: &Client, name: &str) -> Result<Option<PersistentVolume>, Error> {
    let volume = Api::<PersistentVolume>::all(client.clone())
        .get_opt(name)
        .await;
    volume.map_err(|error| Error::new(format!("read PersistentVolume {name}"), error))
}

/// Namespace and name of the claims of pods that a drain does not evict.
fn claims_left_by_drain(pods: &[Pod], now: Timestamp) -> BTreeSet<(String, String)> {
    let skipped = plan(pods, false, now).skipped;
    let stays: BTreeSet<_> = skipped.into_iter().map(|(pod, _)| pod.uid).collect();
    let staying = pods.iter().filter(|pod| {
        pod.metadata
            .uid
            .as_ref()
            .is_some_and(|uid| stays.contains(uid))
    });
    staying.flat_map(claims_of).collect()
}

fn claims_of(pod: &Pod) -> Vec<(String, String)> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let pod_name = pod.metadata.name.clone().unwrap_or_default();
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let claims = volumes.filter_map(|volume| match &volume.persistent_volume_claim {
        Some(claim) => Some(claim.claim_name.clone()),
        // a generic ephemeral volume's claim is named after the pod and the volume
        None => volume
            .ephemeral
            .as_ref()
            .map(|_| format!("{pod_name}-{}", volume.name)),
    });
    claims.map(|claim| (namespace.clone(), claim)).collect()
}

fn claim_of(volume: &PersistentVolume) -> Option<(String, String)> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some((claim.namespace.clone()?, claim.name.clone()?))
}

/// The name of a CSI volume in `node.status.volumesAttached`.
fn unique_name(volume: &PersistentVolume) -> Option<String> {
    let csi = volume.spec.as_ref()?.csi.as_ref()?;
    Some(format!(
        "kubernetes.io/csi/{}^{}",
        csi.driver, csi.volume_handle
    ))
}
