//! Watches what addons are read from, and the Secrets of a Cluster: each object by its name, and only its
//! metadata. So a change takes effect at once, an idle manager asks nothing, and no ConfigMap or Secret is
//! held in memory.

use std::collections::HashMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Cluster;
use crate::api::cluster_provider_spec::{Addon, AddonKind};
use crate::core::backoff;
use crate::store::Waker;

/// How long one watch lasts, in seconds: a connection that died unnoticed is missed no longer.
const WATCH_SECONDS: u32 = 290;
/// Where a watch starts that knows nothing: with the object as it is.
const FROM_NOW: &str = "0";

/// What is read for each cluster, by the Cluster's UID.
pub struct Sources {
    followed: Mutex<HashMap<String, Followed>>,
    client: Client,
    wake: Waker<Cluster>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct Followed {
    /// Moves with each change.
    revision: Arc<AtomicU64>,
    watches: Vec<(Addon, AbortHandle)>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.watches.iter().for_each(|(_, watch)| watch.abort());
    }
}

impl Sources {
    /// Nothing is watched yet.
    pub fn new(
        client: Client,
        wake: Waker<Cluster>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            followed: Mutex::default(),
            client,
            wake,
            tasks,
            stop,
        }
    }

    /// Watches these and no others for a Cluster, which is woken by each change.
    pub fn follow(&self, cluster: &Cluster, addons: &[Addon]) {
        let mut followed = self.lock();
        let entry = followed
            .entry(cluster.uid().unwrap_or_default())
            .or_default();
        entry.watches.retain(|(addon, watch)| {
            let is_wanted = addons.contains(addon);
            if !is_wanted {
                watch.abort();
            }
            is_wanted
        });
        for addon in addons {
            if !entry.watches.iter().any(|(known, _)| known == addon) {
                let watch = self.watch(cluster, addon, entry.revision.clone());
                entry.watches.push((addon.clone(), watch));
            }
        }
    }

    /// A number that moves when one of a Cluster's sources changes. What was read after it was asked for
    /// is as new as it says.
    pub fn revision(&self, uid: &str) -> u64 {
        let followed = self.lock();
        followed
            .get(uid)
            .map_or(0, |followed| followed.revision.load(Ordering::Acquire))
    }

    /// Watches nothing for a Cluster any more.
    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    fn watch(&self, cluster: &Cluster, addon: &Addon, revision: Arc<AtomicU64>) -> AbortHandle {
        let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
        let (client, kind, source) = (self.client.clone(), addon.kind, addon.name.clone());
        let (wake, stop) = (self.wake.clone(), self.stop.clone());
        let task = async move {
            let changed = || {
                revision.fetch_add(1, Ordering::AcqRel);
                wake.wake(&namespace, &name);
            };
            let watch = async {
                match kind {
                    AddonKind::ConfigMap => {
                        let api = Api::<ConfigMap>::namespaced(client, &namespace);
                        follow(api, &source, changed).await;
                    }
                    AddonKind::Secret => {
                        let api = Api::<Secret>::namespaced(client, &namespace);
                        follow(api, &source, changed).await;
                    }
                }
            };
            tokio::select! {
                () = watch => {}
                () = stop.cancelled() => {}
            }
        };
        self.tasks.spawn(task).abort_handle()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches one object for ever. Each watch goes on where the one before ended.
async fn follow<K>(api: Api<K>, name: &str, changed: impl Fn())
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let params = WatchParams::default()
        .fields(&format!("metadata.name={name}"))
        .timeout(WATCH_SECONDS);
    let (mut version, mut failures) = (FROM_NOW.to_owned(), 0);
    loop {
        let heard = version.clone();
        let ended = watch_once(&api, &params, &mut version, &changed).await;
        if let Err(error) = &ended {
            tracing::debug!(name, %error, "watch of an object broken, taking it up again");
        }
        failures = if ended.is_ok() && version != heard {
            0
        } else {
            failures + 1
        };
        tokio::time::sleep(backoff::delay(failures, 0.5)).await;
    }
}

async fn watch_once<K>(
    api: &Api<K>,
    params: &WatchParams,
    version: &mut String,
    changed: impl Fn(),
) -> Result<(), kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut events = pin!(api.watch_metadata(params, version).await?);
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object) => {
                let new = object.resource_version().unwrap_or_default();
                if *version != new {
                    *version = new;
                    changed();
                }
            }
            WatchEvent::Bookmark(mark) => *version = mark.metadata.resource_version,
            // what happened since that version is not known any more
            WatchEvent::Error(status) => {
                FROM_NOW.clone_into(version);
                changed();
                return Err(kube::Error::Api(status));
            }
        }
    }
    Ok(())
}
