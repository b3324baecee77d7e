//! Where the key of a cluster's CA was seen: on a host of its control plane, from before `kubeadm init` is started
//! until the reset. Kept in memory, from what Hosts said since this process started.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::node::{Marker, Observation, Ownership};

/// What a Host said of itself when it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// `sha256:<hex>` of the file with the certificate of the CA whose key it has.
    pub authority: Option<String>,
    /// The Machine that its marker names.
    pub owner: Option<Marker>,
}

/// What the Hosts said of themselves.
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
    /// Takes down what a Host said.
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

    /// A Host did not answer: what it said before still counts.
    pub fn note_silence(&self, namespace: &str, name: &str) {
        self.lock().hosts.entry(key(namespace, name)).or_default();
    }

    /// What a Host said last; nothing where it was not asked.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Sighting> {
        self.lock().hosts.get(&key(namespace, name)).cloned()
    }

    /// It is proven that nothing of this Machine runs: what its host said before counts no more, and is forgotten, so that
    /// the host is asked again; the proof may be no more than the user's word. Remembered of a Machine that exists,
    /// until that is [forgotten](Self::forget_ended).
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

    /// `kubeadm init` is about to be started for this Machine, or it is gone: that it had ended counts no more.
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
