//! The watches: one for each kind, taken up again by themselves.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::kind::Kind;
use super::snapshot::{Objects, Snapshot};
use crate::api::ClusterProfile;
use crate::api::names::LABEL_CLUSTER;
use crate::cli::caller::{ApiError, Caller};
use crate::manager::LEASE_NAME;
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
    kinds: usize,
    changes: futures::stream::ReadyChunks<SelectAll<Changes>>,
}

impl Watch {
    /// Starts the watches that describe an object, and returns when every kind was listed.
    pub async fn start(
        caller: &Caller,
        kind: Kind,
        name: &str,
        lease_namespace: &str,
    ) -> Result<Self, ApiError> {
        let all = watcher::Config::default;
        let one = || all().fields(&format!("metadata.name={name}"));
        let (clusters, members) = match kind {
            Kind::Cluster => (one(), all().labels(&format!("{LABEL_CLUSTER}={name}"))),
            _ => (all(), all()),
        };
        let mut watches = vec![
            leader(caller, lease_namespace),
            changes(caller, clusters, |s| &mut s.clusters),
            changes(caller, members.clone(), |s| &mut s.deployments),
            changes(caller, members.clone(), |s| &mut s.sets),
            changes(caller, members, |s| &mut s.machines),
            changes(caller, all(), |s| &mut s.hosts),
        ];
        match kind {
            Kind::Cluster => watches.push(without_profiles(changes(caller, one(), |s| {
                &mut s.profiles
            }))),
            Kind::MachineClass => watches.push(changes(caller, one(), |s| &mut s.classes)),
            _ => watches.push(changes(caller, all(), |s| &mut s.hypervisors)),
        }
        let kinds = watches.len();
        let changes: SelectAll<Changes> = watches.into_iter().collect();
        let mut snapshot = Snapshot::of(kind, &caller.namespace, name);
        lease_namespace.clone_into(&mut snapshot.lease_namespace);
        let mut watch = Self {
            snapshot,
            kinds,
            interrupted: None,
            changes: changes.ready_chunks(BURST),
        };
        while !watch.is_complete() {
            watch.next().await?;
        }
        Ok(watch)
    }

    fn is_complete(&self) -> bool {
        self.snapshot.listed.len() == self.kinds
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
                Err(error) if self.is_complete() && error.may_pass() => {
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
        .map_ok(move |event| change::<K, _>(event, move |snapshot, event| of(snapshot).take(event)))
        .map_err(move |error| caller.explain_watch::<K>(error))
        .boxed()
}

fn change<K, F>(event: Event<K>, take: F) -> Change
where
    K: Resource<DynamicType = ()> + Send + 'static,
    F: FnOnce(&mut Snapshot, Event<K>) + Send + 'static,
{
    let is_whole = matches!(event, Event::InitDone);
    Box::new(move |snapshot| {
        take(snapshot, event);
        if is_whole {
            snapshot.listed.insert(K::kind(&()).into_owned());
        }
    })
}

/// The Lease of the manager. Whoever may not read it is not troubled with that.
fn leader(caller: &Caller, namespace: &str) -> Changes {
    let api: Api<Lease> = Api::namespaced(caller.client.clone(), namespace);
    let one = watcher::Config::default().fields(&format!("metadata.name={LEASE_NAME}"));
    let unknown: fn() -> Change = || {
        change(Event::<Lease>::InitDone, |snapshot, _| {
            snapshot.leader.forget();
        })
    };
    let caller = caller.clone();
    watcher(api, one)
        .default_backoff()
        .filter(|event| std::future::ready(!is_stale(event)))
        .map_ok(|event| change(event, |snapshot, event| snapshot.leader.take(event)))
        .map(move |result| {
            result.or_else(|error| match caller.explain_watch::<Lease>(error) {
                error if error.may_pass() => Err(error),
                _ => Ok(unknown()),
            })
        })
        .boxed()
}

/// ClusterProfile is not our kind: where its definition is not installed, there are none. The watch is tried again
/// with back-off, in case it is installed.
fn without_profiles(changes: Changes) -> Changes {
    let none = |result: Result<Change, ApiError>| match result {
        Err(ApiError::KindMissing { .. }) => {
            Ok(change(Event::<ClusterProfile>::InitDone, |snapshot, _| {
                snapshot.profiles.take(Event::Init);
                snapshot.profiles.take(Event::InitDone);
            }))
        }
        result => result,
    };
    changes.map(none).boxed()
}

/// The API server no longer knows where the watch was: it makes a new list, and nothing is wrong.
fn is_stale<K>(event: &watcher::Result<Event<K>>) -> bool {
    matches!(event, Err(watcher::Error::WatchError(status)) if status.code == 410)
}
