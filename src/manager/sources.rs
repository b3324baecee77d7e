//! One metadata watch each of ConfigMaps and Secrets, which reports changes of their sources to
//! Clusters.

use std::fmt::Debug;
use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{WatchEvent, WatchParams};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::controllers::cluster::{Names, Now, Sources};
use tatara_core::api::cluster_provider_spec::AddonKind;
use tatara_core::backoff;

/// Duration of one watch in seconds: a dead connection is detected no later.
const WATCH_SECONDS: u32 = 290;
/// resourceVersion of the first watch, which begins with all existing objects. Unlike a list, it
/// needs no right but `watch`.
const FROM_NOW: &str = "0";

/// Watches both kinds, in one namespace or in all, until the future is dropped.
pub async fn watch(
    client: &Client,
    namespace: Option<&str>,
    addons: &Sources,
    secrets: [&Sources; 2],
    names: &Names,
) {
    let [clusters, consumers] = secrets;
    let maps = Listeners {
        kind: AddonKind::ConfigMap,
        told: &[addons],
        names: None,
    };
    let secrets = Listeners {
        kind: AddonKind::Secret,
        told: &[addons, clusters, consumers],
        names: Some(names),
    };
    tokio::join!(
        follow(api::<ConfigMap>(client, namespace), &maps),
        follow(api::<Secret>(client, namespace), &secrets),
    );
}

/// Receivers of the events of a kind.
struct Listeners<'a> {
    kind: AddonKind,
    told: &'a [&'a Sources],
    names: Option<&'a Names>,
}

impl Listeners<'_> {
    fn tell<K: Resource>(&self, object: &PartialObjectMeta<K>, now: &Now) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if let Some(names) = self.names {
            match now {
                Now::At(_) => names.is_there(&namespace, &name),
                Now::Deleted => names.is_gone(&namespace, &name),
            }
        }
        for sources in self.told {
            sources.changed(self.kind, &namespace, &name, now.clone());
        }
    }

    /// Handles a restart of the watch, whose initial objects do not include those deleted before.
    fn lost(&self) {
        if let Some(names) = self.names {
            names.lost();
        }
        for sources in self.told {
            sources.lost(self.kind);
        }
    }
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

/// Each watch continues where the previous one ended.
async fn follow<K>(api: Api<K>, listeners: &Listeners<'_>)
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let (mut version, mut failures) = (FROM_NOW.to_owned(), 0);
    let mut marks_end = true;
    loop {
        let before = version.clone();
        let ended = watch_once(&api, &mut version, marks_end, listeners).await;
        if let Err(error) = &ended {
            let kind = listeners.kind;
            tracing::debug!(?kind, %error, "retrying a watch that failed");
            // without streaming lists (KEP-3157) the server sends all objects as well, but does not
            // mark their end
            marks_end &=
                !matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 422));
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
    marks_end: bool,
    listeners: &Listeners<'_>,
) -> Result<(), kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    // initial objects are unordered: until a bookmark arrives, the next watch has to begin with
    // them again
    let mut is_first = *version == FROM_NOW;
    let mut params = WatchParams::default().timeout(WATCH_SECONDS);
    if is_first && marks_end {
        params = params.initial_events();
    }
    let mut events = pin!(api.watch_metadata(&params, version).await?);
    if is_first {
        listeners.lost();
    }
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let now = object.resource_version().unwrap_or_default();
                listeners.tell(&object, &Now::At(now.clone()));
                if !is_first {
                    *version = now;
                }
            }
            WatchEvent::Deleted(object) => {
                listeners.tell(&object, &Now::Deleted);
                if !is_first {
                    *version = object.resource_version().unwrap_or_default();
                }
            }
            WatchEvent::Bookmark(mark) => {
                *version = mark.metadata.resource_version;
                is_first = false;
                if let Some(names) = listeners.names {
                    names.complete();
                }
            }
            // events since that version are no longer available
            WatchEvent::Error(status) => {
                FROM_NOW.clone_into(version);
                return Err(kube::Error::Api(status));
            }
        }
    }
    Ok(())
}
