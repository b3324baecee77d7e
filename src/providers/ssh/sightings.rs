//! Hosts on which the private key of a cluster's CA was observed: control-plane hosts have it from
//! before `kubeadm init` until their reset. Kept in memory, from observations since this process
//! started.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tatara_core::machine::live::init_evidence::Sighting;
use tatara_core::node::{Observation, Ownership};

/// The last observations of all Hosts.
#[derive(Default)]
pub struct Sightings(Mutex<SightingIndex>);

#[derive(Default)]
struct SightingIndex {
    /// By namespace and name of the Host.
    hosts: HashMap<(String, String), Sighting>,
    /// UIDs of Machines that still exist, and of which nothing runs any more.
    ended: HashSet<String>,
}

impl Sightings {
    /// Records an observation of a Host.
    pub fn note(&self, namespace: &str, name: &str, seen: &Observation) {
        let owner = match &seen.owner {
            Ownership::Owner(owner) => Some(owner.marker.clone()),
            Ownership::Nobody | Ownership::Unreadable(_) => None,
        };
        let sighting = Sighting {
            authority: seen.authority.clone(),
            owner,
        };
        self.lock().hosts.insert(key(namespace, name), sighting);
    }

    /// Records that a Host did not answer: its last observation remains valid.
    pub fn note_silence(&self, namespace: &str, name: &str) {
        self.lock().hosts.entry(key(namespace, name)).or_default();
    }

    /// The last observation of a Host; `None` if it was never contacted.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Sighting> {
        self.lock().hosts.get(&key(namespace, name)).cloned()
    }

    /// Records proof that nothing of this Machine runs. Observations of its host are dropped, so
    /// that the host is contacted again: the proof may be only the user's assertion. The record of
    /// an existing Machine remains until [`Self::forget_ended`].
    pub fn ended(&self, uid: &str, exists: bool) {
        let mut known = self.lock();
        let is_its = |sighting: &Sighting| sighting.owner.as_ref().is_some_and(|of| of.uid == uid);
        known.hosts.retain(|_, sighting| !is_its(sighting));
        if exists {
            known.ended.insert(uid.to_owned());
        }
    }

    /// Whether nothing of this Machine runs any more.
    pub fn has_ended(&self, uid: &str) -> bool {
        self.lock().ended.contains(uid)
    }

    /// Drops that record, because `kubeadm init` is about to start for this Machine, or the Machine
    /// is deleted.
    pub fn forget_ended(&self, uid: &str) {
        self.lock().ended.remove(uid);
    }

    /// Forgets a deleted Host.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.lock().hosts.remove(&key(namespace, name));
    }

    fn lock(&self) -> MutexGuard<'_, SightingIndex> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(namespace: &str, name: &str) -> (String, String) {
    (namespace.to_owned(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatara_core::node::Marker;

    fn sighting(uid: &str) -> Sighting {
        Sighting {
            authority: Some("sha256:ab".into()),
            owner: Some(Marker {
                uid: uid.into(),
                ..Marker::default()
            }),
        }
    }

    #[test]
    fn what_a_host_said_counts_through_its_silence_until_it_is_proven_wrong() {
        let sightings = Sightings::default();
        sightings.note_silence("n", "b");
        assert_eq!(sightings.get("n", "b"), Some(Sighting::default()));
        assert_eq!(sightings.get("other", "b"), None, "not asked");
        sightings.lock().hosts.insert(key("n", "a"), sighting("m"));
        sightings.note_silence("n", "a");
        assert_eq!(sightings.get("n", "a"), Some(sighting("m")));
        sightings.ended("another", true);
        assert_eq!(sightings.get("n", "a"), Some(sighting("m")));
        sightings.ended("m", true);
        assert_eq!(sightings.get("n", "a"), None, "it is asked again");
        assert!(sightings.has_ended("m"));
        sightings.forget_ended("m");
        assert!(!sightings.has_ended("m"));
        sightings.ended("m", false);
        assert!(
            !sightings.has_ended("m"),
            "a Machine that is gone is not remembered"
        );
    }
}
