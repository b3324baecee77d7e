//! Wake-ups by changes of Clusters.

use std::sync::Arc;

use kube::ResourceExt;

use super::is_pause_news;
use crate::controllers::skew;
use crate::store::{Change, Hook, Key, Stores, Wakers};
use tatara_core::api::conditions::{ConditionType, is_true, reason_of};
use tatara_core::api::names::{
    ANNOTATION_ADDONS_DUE, ANNOTATION_INITIALIZED, ANNOTATION_PAUSED, ANNOTATION_SETTINGS,
    ANNOTATION_SETTINGS_KEPT, ANNOTATION_SETTINGS_WRITING, ANNOTATION_TURN,
};
use tatara_core::api::{Cluster, ownership};

/// A Cluster wakes itself and its profile. It wakes its Machines and sets, of which there may be
/// many, only if a field changed that they depend on.
pub fn cluster(stores: Arc<Stores>, wakers: Wakers) -> Hook<Cluster> {
    Box::new(move |cluster, before, change| {
        wakers.clusters.wake_object(cluster);
        wakers.profiles.wake_object(cluster);
        wakers.planners.wake_object(cluster);
        let namespace = cluster.namespace().unwrap_or_default();
        let all = Key::Cluster(namespace, cluster.name_any());
        let is_new = before.is_none() || change == Change::Deleted;
        if is_new || before.is_some_and(|before| !same_for_machines(before, cluster)) {
            for machine in stores.machines.by(&all) {
                wakers.machines.wake_object(&machine);
            }
        }
        // sets do not create Machines with a newer version than the control plane
        let is_paused = is_pause_news(cluster, before, change);
        // the provider of an object without spec and class is that of its Cluster
        let is_new_owner = is_new
            || before.is_some_and(|before| {
                ownership::of_cluster(before) != ownership::of_cluster(cluster)
            });
        let is_news = before.is_some_and(|before| version(before) != version(cluster));
        if is_new_owner || is_paused || is_news {
            for set in stores.machine_sets.by(&all) {
                wakers.machine_sets.wake_object(&set);
            }
        }
        if is_news {
            let namespace = cluster.namespace().unwrap_or_default();
            for deployment in skew::deployments_of(&stores, &namespace, &cluster.name_any()) {
                wakers.machine_deployments.wake_object(&deployment);
            }
        }
        if is_new_owner || is_paused {
            for deployment in stores.machine_deployments.by(&all) {
                wakers.machine_deployments.wake_object(&deployment);
            }
        }
    })
}

fn version(cluster: &Cluster) -> Option<&str> {
    cluster.status.as_ref()?.version.as_deref()
}

/// Whether two states of a Cluster are equal for its Machines.
fn same_for_machines(before: &Cluster, after: &Cluster) -> bool {
    let facts = |cluster: &Cluster| {
        let marks = [
            ANNOTATION_INITIALIZED,
            ANNOTATION_TURN,
            ANNOTATION_PAUSED,
            ANNOTATION_ADDONS_DUE,
            ANNOTATION_SETTINGS,
            ANNOTATION_SETTINGS_KEPT,
            ANNOTATION_SETTINGS_WRITING,
        ];
        let marks = marks.map(|key| cluster.annotations().get(key).cloned());
        let finalizers = cluster.metadata.finalizers.clone();
        let status = cluster.status.as_ref();
        let endpoint = status.and_then(|status| status.endpoint.clone());
        let certificates =
            status.is_some_and(|s| is_true(&s.conditions, ConditionType::CertificatesReady));
        let is_valid =
            status.is_some_and(|s| is_true(&s.conditions, ConditionType::ConfigurationValid));
        let in_doubt = status
            .and_then(|s| reason_of(&s.conditions, ConditionType::ControlPlaneInitialized))
            .filter(|reason| reason.is_doubt());
        (
            cluster.metadata.generation,
            cluster.metadata.deletion_timestamp.clone(),
            finalizers,
            marks,
            endpoint,
            version(cluster).map(str::to_owned),
            certificates,
            is_valid,
            in_doubt,
        )
    };
    facts(before) == facts(after)
}
