//! The existing ClusterProfiles under a Cluster's name, read live.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::engine::ReconcileError;
use crate::store::Item;
use tatara_core::api::names::{LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE, PROFILE_MANAGER};
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, ClusterProfile};
use tatara_core::cluster_profile::{Existing, Ours, OwnedFields};

/// Profiles under the Cluster's name, by namespace, with their resourceVersions.
#[derive(Clone, Debug, Default)]
pub(super) struct Profiles {
    /// Whether the management cluster serves ClusterProfiles.
    pub(super) served: bool,
    pub(super) existing: BTreeMap<String, Existing>,
    pub(super) versions: BTreeMap<String, String>,
}

/// Reads the profiles with the Cluster's name that have its labels, in any namespace, or are in
/// `namespaces`.
///
/// # Errors
/// `ReconcileError::Api` when the list fails, except with 404: then ClusterProfiles are not served.
pub(super) async fn profiles(
    client: &Client,
    cluster: &Cluster,
    namespaces: &[String],
) -> Result<Profiles, ReconcileError> {
    let (name, own) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let everywhere = Api::<Item<ClusterProfile>>::all(client.clone());
    let listed = match everywhere.list(&params).await {
        Ok(listed) => listed,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Profiles::default()),
        Err(error) => return Err(ReconcileError::api("list the ClusterProfiles")(error)),
    };
    let is_labelled = |profile: &ClusterProfile| {
        profile.labels().get(LABEL_CLUSTER) == Some(&name)
            && profile.labels().get(LABEL_CLUSTER_NAMESPACE) == Some(&own)
    };
    let mut profiles = Profiles {
        served: true,
        ..Profiles::default()
    };
    for Item(profile) in listed.items {
        let namespace = profile.namespace().unwrap_or_default();
        if is_labelled(&profile) || namespaces.contains(&namespace) {
            profiles.take(cluster, &profile);
        }
    }
    Ok(profiles)
}

impl Profiles {
    /// Whether each of these namespaces has a profile of the Cluster's own.
    pub(super) fn are_ours(&self, namespaces: &[String]) -> bool {
        let mut namespaces = namespaces.iter();
        namespaces.all(|namespace| matches!(self.existing.get(namespace), Some(Existing::Ours(_))))
    }

    /// Records a profile as it was read or written.
    pub(super) fn take(&mut self, cluster: &Cluster, profile: &ClusterProfile) {
        let namespace = profile.namespace().unwrap_or_default();
        let version = profile.resource_version().unwrap_or_default();
        self.existing
            .insert(namespace.clone(), existing(cluster, profile));
        self.versions.insert(namespace, version);
    }
}

fn existing(cluster: &Cluster, profile: &ClusterProfile) -> Existing {
    if let Some(why) = unreadable(profile) {
        return Existing::Foreign(format!("one that cannot be read ({why})"));
    }
    let manager = &profile.spec.cluster_manager.name;
    if manager != PROFILE_MANAGER {
        return Existing::Foreign(format!("that of the cluster manager {manager}"));
    }
    let label = |key: &str| profile.labels().get(key).cloned();
    let name = label(LABEL_CLUSTER).unwrap_or_else(|| cluster.name_any());
    let own = cluster.namespace().unwrap_or_default();
    let namespace = label(LABEL_CLUSTER_NAMESPACE).unwrap_or_else(|| own.clone());
    if name != cluster.name_any() || namespace != own {
        return Existing::Foreign(format!("that of Cluster {namespace}/{name}"));
    }
    Existing::Ours(Box::new(Ours {
        uid: profile.uid().unwrap_or_default(),
        generation: profile.metadata.generation.unwrap_or(1),
        deleted_at: profile
            .metadata
            .deletion_timestamp
            .as_ref()
            .map(|time| time.0),
        finalizers: profile.finalizers().to_vec(),
        owned: OwnedFields::of(profile),
    }))
}
