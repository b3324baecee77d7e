//! What addons are read from, and the Secrets of Clusters: which of them each Cluster needs. One watch of each
//! kind serves all Clusters, for metadata only: a change takes effect at once, an idle manager asks nothing, and no
//! ConfigMap or Secret is held in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;

use crate::api::Cluster;
use crate::api::cluster_provider_spec::{Addon, AddonKind};
use crate::store::Waker;

/// What is read for each cluster, by the Cluster's UID.
pub struct Sources {
    all: Mutex<All>,
    wake: Waker<Cluster>,
}

/// Kind, namespace and name of a ConfigMap or a Secret.
pub type Source = (AddonKind, String, String);

#[derive(Default)]
struct All {
    followers: HashMap<String, Follower>,
    /// UIDs of the Clusters that follow each.
    by_source: HashMap<Source, SourceState>,
}

struct Follower {
    namespace: String,
    cluster: String,
    /// Moves with each change.
    revision: u64,
    sources: BTreeSet<Source>,
}

#[derive(Default)]
struct SourceState {
    by: BTreeSet<String>,
    /// What the watch told of it last.
    now: Option<Now>,
}

/// What a watch tells of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// It has this resourceVersion.
    At(String),
    /// It was deleted.
    Deleted,
}

impl Sources {
    /// Nothing is followed yet.
    pub fn new(wake: Waker<Cluster>) -> Self {
        Self {
            all: Mutex::default(),
            wake,
        }
    }

    /// A Cluster needs these and no others, and is woken by each change. What it reads from then on is as new as
    /// [`Self::revision`] says.
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

    /// A number that moves when one of a Cluster's sources changes. What was read after it was asked for
    /// is as new as it says.
    pub fn revision(&self, uid: &str) -> u64 {
        let all = self.lock();
        all.followers
            .get(uid)
            .map_or(0, |follower| follower.revision)
    }

    /// What the watch told last of what a Cluster or another one needs; None while it has told nothing.
    pub fn now(&self, kind: AddonKind, namespace: &str, name: &str) -> Option<Now> {
        let source = (kind, namespace.to_owned(), name.to_owned());
        self.lock().by_source.get(&source)?.now.clone()
    }

    /// Follows nothing for a Cluster any more.
    pub fn forget(&self, uid: &str) {
        let mut all = self.lock();
        let follower = all.followers.remove(uid);
        for source in follower.into_iter().flat_map(|follower| follower.sources) {
            all.leave(&source, uid);
        }
    }

    /// The watch told of a ConfigMap or a Secret. What is known already is no news; the first that it tells of one may be.
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

    /// The manager wrote it, and knows what it reads there: the watch will tell of that, which is no news. A change of
    /// somebody else's in between is told as well, and is. Returns whether the watch has told of the write already.
    pub fn wrote(&self, source: &Source, now: Now) -> bool {
        let mut all = self.lock();
        let followed = all.by_source.get_mut(source);
        followed.is_some_and(|followed| followed.now.replace(now.clone()) == Some(now))
    }

    /// The watch of a kind begins anew: anything may have happened since it told of the last change.
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
