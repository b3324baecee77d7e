//! The ConfigMaps and Secrets that Clusters depend on: addons, and their own Secrets. One metadata
//! watch per kind serves all Clusters: a change takes effect at once, an idle manager sends no
//! requests, and no data is held in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;

use crate::store::Waker;
use tatara_core::api::Cluster;
use tatara_core::api::cluster_provider_spec::{Addon, AddonKind};

/// The sources of each Cluster, by its UID.
pub struct Sources {
    all: Mutex<All>,
    wake: Waker<Cluster>,
}

/// Kind, namespace and name of a ConfigMap or a Secret.
pub type Source = (AddonKind, String, String);

#[derive(Default)]
struct All {
    followers: HashMap<String, Follower>,
    /// UIDs of the Clusters that follow each source.
    by_source: HashMap<Source, SourceState>,
}

struct Follower {
    namespace: String,
    cluster: String,
    /// Increases with each change.
    revision: u64,
    sources: BTreeSet<Source>,
}

#[derive(Default)]
struct SourceState {
    by: BTreeSet<String>,
    /// Its last state in the watch.
    now: Option<Now>,
}

/// The state of an object in a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// It exists with this resourceVersion.
    At(String),
    /// It was deleted.
    Deleted,
}

impl Sources {
    /// Starts without followed sources.
    pub fn new(wake: Waker<Cluster>) -> Self {
        Self {
            all: Mutex::default(),
            wake,
        }
    }

    /// Replaces the sources of a Cluster, which is woken by each change of them. Data read after
    /// this call is as new as [`Self::revision`].
    pub fn follow(&self, cluster: &Cluster, addons: &[Addon]) {
        let (uid, namespace) = (
            cluster.uid().unwrap_or_default(),
            cluster.namespace().unwrap_or_default(),
        );
        let source = |addon: &Addon| (addon.kind, namespace.clone(), addon.name.clone());
        let wanted: BTreeSet<Source> = addons.iter().map(source).collect();
        let mut all = self.lock();
        let follower = all
            .followers
            .entry(uid.clone())
            .or_insert_with(|| Follower {
                namespace: namespace.clone(),
                cluster: cluster.name_any(),
                revision: 0,
                sources: BTreeSet::new(),
            });
        if follower.sources == wanted {
            return;
        }
        let before = std::mem::replace(&mut follower.sources, wanted.clone());
        for source in before.difference(&wanted) {
            all.leave(source, &uid);
        }
        for source in wanted {
            all.by_source
                .entry(source)
                .or_default()
                .by
                .insert(uid.clone());
        }
    }

    /// A number that increases when a source of a Cluster changes. Data read after this call is at
    /// least as new as this revision.
    pub fn revision(&self, uid: &str) -> u64 {
        let all = self.lock();
        all.followers
            .get(uid)
            .map_or(0, |follower| follower.revision)
    }

    /// The last state of an object in the watch, if a Cluster follows it; `None` before the first
    /// event.
    pub fn now(&self, kind: AddonKind, namespace: &str, name: &str) -> Option<Now> {
        let source = (kind, namespace.to_owned(), name.to_owned());
        self.lock().by_source.get(&source)?.now.clone()
    }

    /// Removes all sources of a Cluster.
    pub fn forget(&self, uid: &str) {
        let mut all = self.lock();
        let follower = all.followers.remove(uid);
        for source in follower.into_iter().flat_map(|follower| follower.sources) {
            all.leave(&source, uid);
        }
    }

    /// Handles a watch event. A known state is no change; the first state of an object counts as
    /// one.
    pub fn changed(&self, kind: AddonKind, namespace: &str, name: &str, now: Now) {
        let source = (kind, namespace.to_owned(), name.to_owned());
        let mut all = self.lock();
        let Some(followed) = all.by_source.get_mut(&source) else {
            return;
        };
        if followed.now.replace(now.clone()) == Some(now) {
            return;
        }
        for uid in followed.by.clone() {
            self.advance(&mut all, &uid);
        }
    }

    /// Records a write of the manager, so that its watch event is no change. A concurrent change by
    /// another client has its own event, and is one. Returns whether the watch has already shown
    /// the write.
    pub fn wrote(&self, source: &Source, now: Now) -> bool {
        let mut all = self.lock();
        let followed = all.by_source.get_mut(source);
        followed.is_some_and(|followed| followed.now.replace(now.clone()) == Some(now))
    }

    /// Handles a restart of the watch of a kind: events may be lost, so every source of that kind
    /// counts as changed.
    pub fn lost(&self, kind: AddonKind) {
        let mut all = self.lock();
        let of_kind = all.by_source.iter_mut().filter(|((of, ..), _)| *of == kind);
        let mut uids = BTreeSet::new();
        for (_, followed) in of_kind {
            followed.now = None;
            uids.extend(followed.by.iter().cloned());
        }
        for uid in uids {
            self.advance(&mut all, &uid);
        }
    }

    fn advance(&self, all: &mut All, uid: &str) {
        if let Some(follower) = all.followers.get_mut(uid) {
            follower.revision += 1;
            self.wake.wake(&follower.namespace, &follower.cluster);
        }
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    fn leave(&mut self, source: &Source, uid: &str) {
        if let Some(followed) = self.by_source.get_mut(source) {
            followed.by.remove(uid);
            if followed.by.is_empty() {
                self.by_source.remove(source);
            }
        }
    }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
