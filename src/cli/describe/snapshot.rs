//! The objects of one cluster, kept equal to the API server by watch events.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use crate::api::{Cluster, ClusterProfile, Host, Machine, MachineDeployment, MachineSet};

/// The objects of one kind in one namespace, by name.
#[derive(Debug)]
pub struct Objects<K> {
    known: BTreeMap<String, K>,
    listing: BTreeMap<String, K>,
    listed: bool,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            listing: BTreeMap::new(),
            listed: false,
        }
    }
}

impl<K: ResourceExt> Objects<K> {
    /// Takes one event of a watch. A list counts only once it has come in whole.
    pub fn take(&mut self, event: Event<K>) {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                self.listing.insert(object.name_any(), object);
            }
            Event::InitDone => {
                self.known = std::mem::take(&mut self.listing);
                self.listed = true;
            }
            Event::Apply(object) => {
                self.known.insert(object.name_any(), object);
            }
            Event::Delete(object) => {
                self.known.remove(&object.name_any());
            }
        }
    }
}

impl<K> Objects<K> {
    /// The object of this name.
    pub fn get(&self, name: &str) -> Option<&K> {
        self.known.get(name)
    }

    /// All of them, in the order that people count in: `web-2` comes before `web-10`.
    pub fn sorted(&self) -> Vec<&K> {
        let mut objects: Vec<(&String, &K)> = self.known.iter().collect();
        objects.sort_by_cached_key(|(name, _)| natural(name));
        objects.into_iter().map(|(_, object)| object).collect()
    }
}

/// A name as text and numbers in turn.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, number) = rest.split_at(digits);
        let end = number
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(number.len());
        parts.push((text.to_owned(), number[..end].parse().unwrap_or_default()));
        rest = &number[end..];
    }
    parts
}

/// One cluster, and the hosts of its namespace.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Name of the Cluster.
    pub name: String,
    /// The Cluster, if it is there.
    pub clusters: Objects<Cluster>,
    /// Its MachineDeployments.
    pub deployments: Objects<MachineDeployment>,
    /// Its MachineSets.
    pub sets: Objects<MachineSet>,
    /// Its Machines.
    pub machines: Objects<Machine>,
    /// All Hosts of the namespace.
    pub hosts: Objects<Host>,
    /// Its ClusterProfile, if it is published in the same namespace.
    pub profiles: Objects<ClusterProfile>,
}

impl Snapshot {
    /// Nothing is known yet of the Cluster of this name.
    pub fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The Cluster.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.clusters.get(&self.name)
    }

    /// Whether every kind was listed.
    pub fn is_complete(&self) -> bool {
        self.clusters.listed
            && self.deployments.listed
            && self.sets.listed
            && self.machines.listed
            && self.hosts.listed
            && self.profiles.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Host {
        Host::new(name, crate::api::HostSpec::default())
    }

    fn names(hosts: &Objects<Host>) -> Vec<String> {
        hosts.sorted().iter().map(|host| host.name_any()).collect()
    }

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let mut hosts = Objects::default();
        for name in ["web-10", "web-2", "a", "web-2-b", "web"] {
            hosts.take(Event::Apply(host(name)));
        }
        assert_eq!(names(&hosts), ["a", "web", "web-2", "web-2-b", "web-10"]);
    }

    #[test]
    fn a_list_taken_up_again_replaces_what_was_known_when_it_is_whole() {
        let mut hosts = Objects::default();
        for event in [Event::Init, Event::InitApply(host("a")), Event::InitDone] {
            hosts.take(event);
        }
        hosts.take(Event::Apply(host("b")));
        hosts.take(Event::Init);
        hosts.take(Event::InitApply(host("b")));
        assert_eq!(names(&hosts), ["a", "b"]);
        hosts.take(Event::InitDone);
        assert_eq!(names(&hosts), ["b"]);
        hosts.take(Event::Delete(host("b")));
        assert!(names(&hosts).is_empty());
    }
}
