//! Keeps a [`Kind`] equal to the API server, and tells hooks what changed.

use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::index::Index;
use super::learn::{Writing, name_of};
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
    {
        let mut writing = kind.writing();
        if writing.hook.is_some() {
            return;
        }
        writing.hook = Some(hook);
    }
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
        let mut writing = kind.writing();
        match event {
            watcher::Event::Apply(object) => writing.applied(kind, &object),
            watcher::Event::Delete(object) => writing.deleted(kind, &object),
            watcher::Event::Init => {
                listing = Some(Index::default());
                writing.writer.apply_watcher_event(&watcher::Event::Init);
            }
            watcher::Event::InitApply(object) => {
                if let Some(index) = listing.as_mut() {
                    index.insert(&name_of(&object), object.keys());
                }
                let event = watcher::Event::InitApply(object);
                writing.writer.apply_watcher_event(&event);
            }
            watcher::Event::InitDone => {
                listed(kind, &mut writing, listing.take().unwrap_or_default());
            }
        }
    }
}

/// A list has come in whole: what is no longer in it was deleted while nobody watched.
fn listed<K: Indexed + Clone>(kind: &Kind<K>, writing: &mut Writing<K>, fresh: Index) {
    let known = kind.reader.state();
    *kind.index_mut() = fresh;
    let event = watcher::Event::InitDone;
    writing.writer.apply_watcher_event(&event);
    writing.listed(&kind.reader.state());
    for object in known {
        let (namespace, name) = name_of(object.as_ref());
        if kind.get(&namespace, &name).is_none() {
            writing.tell(&object, Some(&object), Change::Deleted);
        }
    }
    for object in kind.reader.state() {
        writing.tell(&object, None, Change::Applied);
    }
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
