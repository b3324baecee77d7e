//! The watches, one per kind, which resume after interruptions.

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
use crate::cli::caller::{ApiError, Caller};
use crate::manager::LEASE_NAME;
use crate::store::{IndexKeys, Item};
use tatara_core::api::ClusterProfile;
use tatara_core::api::names::LABEL_CLUSTER;

/// Number of changes that are applied together, so that a burst is drawn once.
const BURST: usize = 512;

type Change = Box<dyn FnOnce(&mut Snapshot) + Send>;
type Changes = BoxStream<'static, Result<Change, ApiError>>;

/// A snapshot that watches keep up to date.
pub struct Watch {
    /// The current objects.
    pub snapshot: Snapshot,
    /// While the API server does not answer: since when, and the cause.
    pub interrupted: Option<(Timestamp, String)>,
    kinds: usize,
    changes: futures::stream::ReadyChunks<SelectAll<Changes>>,
}

impl Watch {
    /// Starts the watches for an object, and returns when all lists are complete.
    ///
    /// # Errors
    /// The API server cannot be reached, or refuses a request.
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

    /// Waits for the next changes and applies them. After the lists are complete, a transient
    /// failure is recorded in `interrupted`, and the watch resumes with back-off.
    ///
    /// # Errors
    /// The API server refuses a request; before the lists are complete, any failure.
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
    K: IndexKeys + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
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

/// The Lease of the manager. A caller who may not read it sees no error.
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

/// ClusterProfile (KEP-4322) is not our kind: without its definition there are none. The watch is
/// retried with back-off in case the definition is installed later.
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

/// Whether the resourceVersion of a watch expired (410 Gone): the watch lists anew, which is not a
/// failure.
fn is_stale<K>(event: &watcher::Result<Event<K>>) -> bool {
    matches!(event, Err(watcher::Error::WatchError(status)) if status.code == 410)
}
