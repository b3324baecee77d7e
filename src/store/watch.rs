//! Keeps a [`Kind`] equal to the API server, and tells hooks what changed.

use std::fmt::Debug;
use std::sync::{Arc, PoisonError};

use futures::{StreamExt, TryStreamExt};
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::index::{Index, Name};
use super::{Indexed, Item, Kind};
use crate::workload::error::reason;

/// What happened to an object. After a broken watch everything is told again as `Applied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is there, new or changed.
    Applied,
    /// It is gone.
    Deleted,
}

/// Called for each change, in order, after the store has it. Must not block.
/// The second argument is the object as it was before, if it was known.
pub type Hook<K> = Box<dyn Fn(&K, Option<&K>, Change) + Send + Sync>;

/// What part of the API a watch covers.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// One namespace; all when absent.
    pub namespace: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
}

/// Watches a kind until the stream ends, which it does not by itself: errors are logged and the
/// watch is taken up again with back-off.
pub async fn watch<K>(
    client: Client,
    scope: Scope,
    stores: Arc<super::Stores>,
    of: fn(&super::Stores) -> &Kind<K>,
    hook: Hook<K>,
) where
    K: Indexed
        + Resource<Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let api: Api<Item<K>> = match &scope.namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let mut config = watcher::Config::default();
    if let Some(fields) = &scope.fields {
        config = config.fields(fields);
    }
    let kind = of(&stores);
    let writer = kind
        .writer
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(mut writer) = writer else { return };
    let mut events = watcher(api, config)
        .modify(|item| item.0.managed_fields_mut().clear())
        .default_backoff()
        .boxed();
    let mut listing: Option<Index> = None;
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => Item::opened(event),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(kind = %K::kind(&()), error = said(&error), "watch broken, taking it up again");
                continue;
            }
        };
        let before = before(kind, &event);
        let known = if matches!(event, watcher::Event::InitDone) {
            kind.reader.state()
        } else {
            Vec::new()
        };
        // the index first: what the store shows is found under its keys
        match &event {
            watcher::Event::Init => listing = Some(Index::default()),
            watcher::Event::InitApply(object) => {
                if let Some(index) = listing.as_mut() {
                    index.insert(&name(object), object.keys());
                }
            }
            watcher::Event::InitDone => {
                let fresh = listing.take().unwrap_or_default();
                index_mut(kind, |index| *index = fresh);
            }
            watcher::Event::Apply(object) => {
                index_mut(kind, |index| index.insert(&name(object), object.keys()));
            }
            watcher::Event::Delete(object) => {
                index_mut(kind, |index| index.remove(&name(object)));
            }
        }
        writer.apply_watcher_event(&event);
        match event {
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            watcher::Event::InitDone => listed(kind, &known, &hook),
            watcher::Event::Apply(object) => hook(&object, before.as_deref(), Change::Applied),
            watcher::Event::Delete(object) => hook(&object, before.as_deref(), Change::Deleted),
        }
    }
}

fn before<K: Indexed + Clone + 'static>(
    kind: &Kind<K>,
    event: &watcher::Event<K>,
) -> Option<Arc<K>> {
    match event {
        watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
            let (namespace, name) = name(object);
            kind.get(&namespace, &name)
        }
        _ => None,
    }
}

/// A list has come in whole: what is no longer in it was deleted while nobody watched.
fn listed<K: Indexed + Clone + 'static>(kind: &Kind<K>, known: &[Arc<K>], hook: &Hook<K>) {
    for object in known {
        let (namespace, name) = name(object.as_ref());
        if kind.get(&namespace, &name).is_none() {
            hook(object, Some(object), Change::Deleted);
        }
    }
    for object in kind.reader.state() {
        hook(&object, None, Change::Applied);
    }
}

fn index_mut<K: Resource<DynamicType = ()> + Clone + 'static>(
    kind: &Kind<K>,
    f: impl FnOnce(&mut Index),
) {
    f(&mut kind.index.write().unwrap_or_else(PoisonError::into_inner));
}

fn name<K: Resource<DynamicType = ()>>(object: &K) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// What the API server said, without the debug text that kube adds.
fn said(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => reason(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}
