//! One watch of ConfigMaps and one of Secrets, for metadata only, tells Clusters when what they read has changed.

use std::fmt::Debug;
use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{WatchEvent, WatchParams};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::api::cluster_provider_spec::AddonKind;
use crate::controllers::cluster::{Now, Sources};
use crate::core::backoff;

/// How long one watch lasts, in seconds: a connection that died unnoticed is missed no longer.
const WATCH_SECONDS: u32 = 290;
/// Where a watch starts that knows nothing: with all objects as they are. Unlike a list, this needs no right but to watch.
const FROM_NOW: &str = "0";

/// Watches both kinds, in one namespace or in all, until it is dropped.
pub async fn watch(client: &Client, namespace: Option<&str>, addons: &Sources, secrets: &Sources) {
    let all = [addons, secrets];
    tokio::join!(
        follow(
            api::<ConfigMap>(client, namespace),
            AddonKind::ConfigMap,
            &all[..1]
        ),
        follow(api::<Secret>(client, namespace), AddonKind::Secret, &all),
    );
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Each watch goes on where the one before ended.
async fn follow<K>(api: Api<K>, kind: AddonKind, told: &[&Sources])
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let (mut version, mut failures) = (FROM_NOW.to_owned(), 0);
    loop {
        let before = version.clone();
        let ended = watch_once(&api, &mut version, kind, told).await;
        if let Err(error) = &ended {
            tracing::debug!(?kind, %error, "watch broken, taking it up again");
        }
        failures = if ended.is_ok() && version != before {
            0
        } else {
            failures + 1
        };
        tokio::time::sleep(backoff::delay(failures, 0.5)).await;
    }
}

async fn watch_once<K>(
    api: &Api<K>,
    version: &mut String,
    kind: AddonKind,
    told: &[&Sources],
) -> Result<(), kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    let tell = |object: &PartialObjectMeta<K>, now: Now| {
        let namespace = object.namespace().unwrap_or_default();
        for sources in told {
            sources.changed(kind, &namespace, &object.name_any(), now.clone());
        }
    };
    // the objects as they are come in no order: until a bookmark, the next watch has to begin so again
    let mut is_first = *version == FROM_NOW;
    let mut events = pin!(api.watch_metadata(&params, version).await?);
    if is_first {
        // what was deleted before is not among them
        for sources in told {
            sources.lost(kind);
        }
    }
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let now = object.resource_version().unwrap_or_default();
                tell(&object, Now::At(now.clone()));
                if !is_first {
                    *version = now;
                }
            }
            WatchEvent::Deleted(object) => {
                tell(&object, Now::Deleted);
                if !is_first {
                    *version = object.resource_version().unwrap_or_default();
                }
            }
            WatchEvent::Bookmark(mark) => {
                *version = mark.metadata.resource_version;
                is_first = false;
            }
            // what happened since that version is not known any more
            WatchEvent::Error(status) => {
                FROM_NOW.clone_into(version);
                return Err(kube::Error::Api(status));
            }
        }
    }
    Ok(())
}
