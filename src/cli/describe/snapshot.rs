//! An object and the related objects, kept up to date by watches.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;

use super::kind::Kind;
use super::lease::Leader;
use tatara_core::api::{
    Cluster, ClusterProfile, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

/// The objects of one kind in one namespace, by name.
#[derive(Debug)]
pub struct Objects<K> {
    known: BTreeMap<String, K>,
    listing: BTreeMap<String, K>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            listing: BTreeMap::new(),
        }
    }
}

impl<K: ResourceExt> Objects<K> {
    /// Applies one event of a watch. A list takes effect once it is complete.
    pub fn take(&mut self, event: Event<K>) {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                self.listing.insert(object.name_any(), object);
            }
            Event::InitDone => {
                self.known = std::mem::take(&mut self.listing);
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

    /// All objects in natural order: `web-2` comes before `web-10`.
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

/// The described object and the related objects.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Kinds whose list is complete.
    pub listed: BTreeSet<String>,
    /// Namespace of the manager's Lease.
    pub lease_namespace: String,
    /// The Lease of the manager.
    pub leader: Leader,
    /// Clusters; only the described one, if a Cluster is described.
    pub clusters: Objects<Cluster>,
    /// MachineDeployments; only those of the Cluster, if a Cluster is described.
    pub deployments: Objects<MachineDeployment>,
    /// MachineSets; as with MachineDeployments.
    pub sets: Objects<MachineSet>,
    /// Machines; as with MachineDeployments.
    pub machines: Objects<Machine>,
    /// All Hosts of the namespace.
    pub hosts: Objects<Host>,
    /// All Hypervisors of the namespace; empty if a Cluster is described.
    pub hypervisors: Objects<Hypervisor>,
    /// The described MachineClass.
    pub classes: Objects<MachineClass>,
    /// The ClusterProfile of the described Cluster, if it is published in the same namespace.
    pub profiles: Objects<ClusterProfile>,
}

/// The parts of the described object that all kinds have.
#[derive(Debug)]
pub struct Focus<'a> {
    /// Its metadata.
    pub meta: &'a ObjectMeta,
    /// Its conditions; empty for a kind without a status.
    pub conditions: &'a [Condition],
}

macro_rules! described {
    ($object:expr) => {
        $object.map(|object| Focus {
            meta: &object.metadata,
            conditions: object
                .status
                .as_ref()
                .map_or(&[], |status| &status.conditions),
        })
    };
}

impl Snapshot {
    /// An empty snapshot for the object of this kind and name.
    pub fn of(kind: Kind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            ..Self::default()
        }
    }

    /// The metadata of an object.
    pub fn meta(&self, kind: Kind, name: &str) -> Option<&ObjectMeta> {
        fn of<'a, K: ResourceExt>(objects: &'a Objects<K>, name: &str) -> Option<&'a ObjectMeta> {
            objects.get(name).map(K::meta)
        }
        match kind {
            Kind::Cluster => of(&self.clusters, name),
            Kind::Machine => of(&self.machines, name),
            Kind::MachineSet => of(&self.sets, name),
            Kind::MachineDeployment => of(&self.deployments, name),
            Kind::Host => of(&self.hosts, name),
            Kind::Hypervisor => of(&self.hypervisors, name),
            Kind::MachineClass => of(&self.classes, name),
        }
    }

    /// The described object, if it exists.
    pub fn described(&self) -> Option<Focus<'_>> {
        let name = self.name.as_str();
        match self.kind {
            Kind::Cluster => described!(self.clusters.get(name)),
            Kind::Machine => described!(self.machines.get(name)),
            Kind::MachineSet => described!(self.sets.get(name)),
            Kind::MachineDeployment => described!(self.deployments.get(name)),
            Kind::Host => described!(self.hosts.get(name)),
            Kind::Hypervisor => described!(self.hypervisors.get(name)),
            Kind::MachineClass => self.classes.get(name).map(|class| Focus {
                meta: &class.metadata,
                conditions: &[],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Host {
        Host::new(name, tatara_core::api::HostSpec::default())
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
