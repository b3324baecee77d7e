//! The watches: one for each kind, taken up again by themselves.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::jiff::Timestamp;
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::snapshot::{Objects, Snapshot};
use crate::api::names::LABEL_CLUSTER;
use crate::cli::caller::{ApiError, Caller};
use crate::store::{Indexed, Item};

/// Changes that are taken together, so that a burst is drawn once.
const BURST: usize = 512;

type Change = Box<dyn FnOnce(&mut Snapshot) + Send>;
type Changes = BoxStream<'static, Result<Change, ApiError>>;

/// A snapshot that follows the API server.
pub struct Watch {
    /// What is known.
    pub snapshot: Snapshot,
    /// Since when and why the API server does not answer, while it does not.
    pub interrupted: Option<(Timestamp, String)>,
    changes: futures::stream::ReadyChunks<SelectAll<Changes>>,
}

impl Watch {
    /// Starts the watches of the Cluster `name`, and returns when every kind was listed.
    pub async fn start(caller: &Caller, name: &str) -> Result<Self, ApiError> {
        let one = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let labelled = watcher::Config::default().labels(&format!("{LABEL_CLUSTER}={name}"));
        let changes: SelectAll<Changes> = [
            changes(caller, one.clone(), |s| &mut s.clusters),
            changes(caller, labelled.clone(), |s| &mut s.deployments),
            changes(caller, labelled.clone(), |s| &mut s.sets),
            changes(caller, labelled, |s| &mut s.machines),
            changes(caller, watcher::Config::default(), |s| &mut s.hosts),
            changes(caller, one, |s| &mut s.profiles)
                .map(without_profiles)
                .boxed(),
        ]
        .into_iter()
        .collect();
        let mut watch = Self {
            snapshot: Snapshot::of(name),
            interrupted: None,
            changes: changes.ready_chunks(BURST),
        };
        while !watch.snapshot.is_complete() {
            watch.next().await?;
        }
        Ok(watch)
    }

    /// Waits for the next changes and takes them. Once everything was listed, only a refusal is an
    /// error: what may pass is noted, and the watch is taken up again with back-off.
    pub async fn next(&mut self) -> Result<(), ApiError> {
        for change in self.changes.next().await.unwrap_or_default() {
            match change {
                Ok(change) => {
                    change(&mut self.snapshot);
                    self.interrupted = None;
                }
                Err(error) if self.snapshot.is_complete() && error.may_pass() => {
                    let since = self.interrupted.take().map(|(since, _)| since);
                    let since = since.unwrap_or_else(crate::clock::now);
                    self.interrupted = Some((since, error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn changes<K>(
    caller: &Caller,
    config: watcher::Config,
    of: fn(&mut Snapshot) -> &mut Objects<K>,
) -> Changes
where
    K: Indexed + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api: Api<Item<K>> = Api::namespaced(caller.client.clone(), &caller.namespace);
    let caller = caller.clone();
    watcher(api, config)
        .modify(|object| object.managed_fields_mut().clear())
        .default_backoff()
        .filter(|event| std::future::ready(!is_stale(event)))
        .map_ok(Item::opened)
        .map_ok(move |event| -> Change { Box::new(move |snapshot| of(snapshot).take(event)) })
        .map_err(move |error| caller.explain_watch::<K>(error))
        .boxed()
}

/// ClusterProfile is not our kind: where nobody installed it, there are none. The watch is tried again
/// with back-off, in case somebody does.
fn without_profiles(change: Result<Change, ApiError>) -> Result<Change, ApiError> {
    match change {
        Err(ApiError::KindMissing { .. }) => Ok(Box::new(|snapshot| {
            snapshot.profiles.take(watcher::Event::Init);
            snapshot.profiles.take(watcher::Event::InitDone);
        })),
        change => change,
    }
}

/// The API server no longer knows where the watch was: it makes a new list, and nothing is wrong.
fn is_stale<K>(event: &watcher::Result<watcher::Event<K>>) -> bool {
    matches!(event, Err(watcher::Error::WatchError(status)) if status.code == 410)
}
