//! Keeps a [`Kind`] up to date by a watch, and calls hooks for each change.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::{StreamExt, TryStreamExt};
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::index::Index;
use super::learn::{Writing, name_of};
use super::{IndexKeys, Item, Kind};
use crate::workload::error::reason;

/// A change of an object. After a watch breaks, every object is reported again as `Applied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new or changed.
    Applied,
    /// It is deleted.
    Deleted,
}

/// Called for each change, in order, after the store has it. Must not block.
/// The second argument is the former object, if it was known.
pub type Hook<K> = Box<dyn Fn(&K, Option<&K>, Change) + Send + Sync>;

/// The objects that a watch covers.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// One namespace; all if absent.
    pub namespace: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
}

/// Watches a kind for the life of the process: errors are logged, and the watch resumes with
/// back-off.
pub async fn watch<K>(
    client: Client,
    scope: Scope,
    stores: Arc<super::Stores>,
    of: fn(&super::Stores) -> &Kind<K>,
    hook: Hook<K>,
) where
    K: IndexKeys
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
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => Item::opened(event),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(kind = %K::kind(&()), error = said(&error), "retrying a watch that failed");
                continue;
            }
        };
        let mut writing = kind.writing();
        match event {
            watcher::Event::Apply(object) => writing.applied(kind, &object),
            watcher::Event::Delete(object) => writing.deleted(kind, &object),
            watcher::Event::InitDone => listed(kind, &mut writing),
            event => writing.writer.apply_watcher_event(&event),
        }
    }
}

/// Applies a complete list: objects that it lacks were deleted while the watch was interrupted.
fn listed<K: IndexKeys + Clone>(kind: &Kind<K>, writing: &mut Writing<K>) {
    let known = kind.reader.state();
    // From here on the kind counts as listed, and its index is filled below: whoever waits for that
    // is polled by the same task (manager/run.rs), and so after both.
    let event = watcher::Event::InitDone;
    writing.writer.apply_watcher_event(&event);
    let listed = kind.reader.state();
    let mut index = Index::default();
    for object in &listed {
        let keys = object.keys();
        index.insert(name_of(object.as_ref()), keys, Arc::clone(object));
    }
    kind.lists.fetch_add(1, Ordering::SeqCst);
    *kind.index_mut() = index;
    writing.listed(&listed);
    for object in known {
        let (namespace, name) = name_of(object.as_ref());
        let now = kind.get(&namespace, &name);
        // another one of the same name may have been made meanwhile
        if now.is_none_or(|now| now.uid() != object.uid()) {
            writing.tell(&object, Some(&object), Change::Deleted);
        }
    }
    for object in listed {
        writing.tell(&object, None, Change::Applied);
    }
}

/// The API server's message, without the debug text that kube adds.
fn said(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => reason(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}
