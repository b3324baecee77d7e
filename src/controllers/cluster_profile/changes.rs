//! Watches for changes of ClusterProfiles by other clients.

use std::future::ready;

use futures::{Stream, StreamExt};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};

use super::memory::Memory;
use tatara_core::api::names::{LABEL_PROFILE_MANAGER, PROFILE_MANAGER};
use tatara_core::api::{Cluster, ClusterProfile};

/// Clusters whose profiles another client changed or deleted, to be reconciled. Our own changes
/// are omitted.
pub fn changes(client: &Client, memory: &Memory) -> impl Stream<Item = ObjectRef<Cluster>> + Send {
    let profiles = Api::<PartialObjectMeta<ClusterProfile>>::all(client.clone());
    let ours = format!("{LABEL_PROFILE_MANAGER}={PROFILE_MANAGER}");
    watcher(profiles, watcher::Config::default().labels(&ours))
        .default_backoff()
        .touched_objects()
        .filter_map(|profile| ready(profile.ok().and_then(|profile| memory.changed(&profile))))
}
