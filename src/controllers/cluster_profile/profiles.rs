//! The ClusterProfiles that are there under a Cluster's name, read live.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::api::names::{LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE, PROFILE_MANAGER};
use crate::api::readable::unreadable;
use crate::api::{Cluster, ClusterProfile};
use crate::core::cluster_profile::{Existing, Ours, Owned};
use crate::engine::ReconcileError;
use crate::store::Item;

/// Profiles under the Cluster's name, by namespace, with their resourceVersions.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    /// Whether the management cluster knows ClusterProfiles at all.
    pub(super) served: bool,
    pub(super) existing: BTreeMap<String, Existing>,
    pub(super) versions: BTreeMap<String, String>,
}

/// Reads those that carry the Cluster's labels, wherever they are, and those in `namespaces`.
pub(super) async fn profiles(
    client: &Client,
    cluster: &Cluster,
    namespaces: &[String],
) -> Result<Profiles, ReconcileError> {
    let (name, own) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
    let selector = format!("{LABEL_CLUSTER}={name},{LABEL_CLUSTER_NAMESPACE}={own}");
    let everywhere = Api::<Item<ClusterProfile>>::all(client.clone());
    let listed = match everywhere
        .list(&ListParams::default().labels(&selector))
        .await
    {
        Ok(listed) => listed,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Profiles::default()),
        Err(error) => return Err(ReconcileError::api("list the ClusterProfiles")(error)),
    };
    let mut profiles = Profiles {
        served: true,
        ..Profiles::default()
    };
    for profile in listed
        .items
        .into_iter()
        .map(|Item(profile)| profile)
        .filter(|profile| profile.name_any() == name)
    {
        profiles.take(cluster, &profile);
    }
    for namespace in namespaces {
        if profiles.existing.contains_key(namespace) {
            continue;
        }
        let found = Api::<Item<ClusterProfile>>::namespaced(client.clone(), namespace)
            .get_opt(&name)
            .await;
        let what = format!("read ClusterProfile {namespace}/{name}");
        let found = found.map_err(ReconcileError::api(what))?;
        if let Some(Item(profile)) = found {
            profiles.take(cluster, &profile);
        }
    }
    Ok(profiles)
}

impl Profiles {
    fn take(&mut self, cluster: &Cluster, profile: &ClusterProfile) {
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
        owned: Owned::of(profile),
    }))
}
