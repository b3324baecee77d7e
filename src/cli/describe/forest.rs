//! Ownership among the objects of one Cluster, or of those without a Cluster.

use std::collections::{HashMap, HashSet};

use kube::ResourceExt;

use super::kind::Kind;
use super::kinds;
use super::provider::judged;
use super::snapshot::Snapshot;
use super::tree::{Branch, branch};
use tatara_core::api::names::{ANNOTATION_HOST, ANNOTATION_HYPERVISOR, LABEL_CLUSTER};
use tatara_core::api::{Cluster, Host, Machine, MachineDeployment, MachineSet};

/// Ownership among the objects of one Cluster.
pub struct Forest<'a> {
    snapshot: &'a Snapshot,
    cluster: Option<&'a Cluster>,
    deployments: Vec<&'a MachineDeployment>,
    sets: Vec<&'a MachineSet>,
    machines: Vec<&'a Machine>,
    sets_of: HashMap<&'a str, Vec<&'a MachineSet>>,
    machines_of: HashMap<&'a str, Vec<&'a Machine>>,
    hosts: HashMap<&'a str, Vec<&'a Host>>,
    places: bool,
}

impl<'a> Forest<'a> {
    /// The objects of the Cluster of this name, or those without a Cluster. With `places` the Host
    /// or Hypervisor of each Machine is below it.
    pub fn of(snapshot: &'a Snapshot, cluster: Option<&str>, places: bool) -> Self {
        let mut hosts: HashMap<&str, Vec<&Host>> = HashMap::new();
        for host in snapshot.hosts.sorted() {
            if let Some(consumer) = &host.spec.consumer_ref {
                hosts.entry(consumer.uid.as_str()).or_default().push(host);
            }
        }
        let sets = labelled(snapshot.sets.sorted(), cluster);
        let machines = labelled(snapshot.machines.sorted(), cluster);
        Self {
            snapshot,
            cluster: cluster.and_then(|name| snapshot.clusters.get(name)),
            deployments: labelled(snapshot.deployments.sorted(), cluster),
            sets_of: by_owner(&sets),
            machines_of: by_owner(&machines),
            sets,
            machines,
            hosts,
            places,
        }
    }

    /// The Cluster with its objects; without a Cluster, those objects alone.
    pub fn roots(&self) -> Vec<Branch> {
        let Some(cluster) = self.cluster else {
            return self.members();
        };
        let standing = judged(cluster, Some(cluster), kinds::cluster(cluster));
        let mut root = branch(Kind::Cluster.as_str(), cluster, standing);
        root.below = self.members();
        let profiles = self.snapshot.profiles.sorted().into_iter();
        root.below.extend(
            profiles.map(|profile| branch("ClusterProfile", profile, kinds::profile(profile))),
        );
        root.below.extend(self.hosts_given_back(cluster));
        vec![root]
    }

    /// The control plane, MachineDeployments, and MachineSets and Machines without an owner.
    fn members(&self) -> Vec<Branch> {
        let deployments = self.deployments.iter();
        let mut below: Vec<Branch> = deployments.map(|one| self.deployment(one)).collect();
        let known = uids(&self.deployments);
        let sets = without_owner(&self.sets, &known);
        below.extend(sets.map(|set| self.set(set)));
        let known = uids(&self.sets);
        let machines = without_owner(&self.machines, &known);
        below.extend(machines.map(|machine| self.machine(machine)));
        below.iter_mut().for_each(mark_control_plane);
        below.sort_by_key(|branch| !branch.row.control_plane);
        below
    }

    fn deployment(&self, deployment: &MachineDeployment) -> Branch {
        let standing = judged(deployment, self.cluster, kinds::deployment(deployment));
        let mut below = branch(Kind::MachineDeployment.as_str(), deployment, standing);
        let uid = deployment.uid().unwrap_or_default();
        let sets = self.sets_of.get(uid.as_str()).into_iter().flatten();
        below.below = sets.map(|set| self.set(set)).collect();
        below
    }

    fn set(&self, set: &MachineSet) -> Branch {
        let standing = judged(set, self.cluster, kinds::set(set));
        let mut below = branch(Kind::MachineSet.as_str(), set, standing);
        let uid = set.uid().unwrap_or_default();
        let machines = self.machines_of.get(uid.as_str()).into_iter().flatten();
        below.below = machines.map(|machine| self.machine(machine)).collect();
        below
    }

    /// A Machine with its Host or Hypervisor.
    pub fn machine(&self, machine: &Machine) -> Branch {
        let hosts = self.hosts_of(machine);
        let place = |host: &&Host| match kinds::host(host).state.as_str() {
            "Claimed" if host.spec.maintenance => format!("{} (maintenance)", host.name_any()),
            "Claimed" => host.name_any(),
            state => format!("{} ({state})", host.name_any()),
        };
        let places: Vec<String> = hosts.iter().map(place).collect();
        let hypervisor = machine.annotations().get(ANNOTATION_HYPERVISOR);
        let place = (!places.is_empty()).then(|| places.join(" and "));
        let place = place.or_else(|| hypervisor.cloned());
        let standing = judged(machine, self.cluster, kinds::machine(machine, place));
        let mut below = branch(Kind::Machine.as_str(), machine, standing);
        below.row.control_plane = machine.is_control_plane();
        if self.places {
            let hosts = hosts.into_iter();
            let hosts = hosts.map(|host| branch(Kind::Host.as_str(), host, kinds::host(host)));
            let hypervisor = hypervisor.and_then(|name| self.snapshot.hypervisors.get(name));
            let hypervisor = hypervisor.map(|hypervisor| {
                let standing = kinds::hypervisor(hypervisor);
                branch(Kind::Hypervisor.as_str(), hypervisor, standing)
            });
            below.below = hosts.chain(hypervisor).collect();
        }
        below
    }

    /// The Hosts that a Machine claims. Of several, which is a mistake, the one that it says it is
    /// on comes first.
    fn hosts_of(&self, machine: &Machine) -> Vec<&'a Host> {
        let uid = machine.uid().unwrap_or_default();
        let mut hosts = self.hosts.get(uid.as_str()).cloned().unwrap_or_default();
        let written = machine.annotations().get(ANNOTATION_HOST);
        let said = || machine.status.as_ref()?.host.as_ref();
        let own = written.or_else(said).cloned();
        hosts.sort_by_key(|host| host.metadata.name != own);
        hosts
    }

    /// Hosts whose claim names a deleted Machine of this cluster.
    fn hosts_given_back(&self, cluster: &Cluster) -> Vec<Branch> {
        let machines = uids(&self.machines);
        let hosts = self.snapshot.hosts.sorted().into_iter().filter(|host| {
            let consumer = host.spec.consumer_ref.as_ref();
            consumer.is_some_and(|c| c.cluster == cluster.name_any() && !machines.contains(&c.uid))
        });
        hosts
            .map(|host| branch(Kind::Host.as_str(), host, kinds::host(host)))
            .collect()
    }
}

/// A branch that has a control-plane Machine belongs to the control plane.
fn mark_control_plane(branch: &mut Branch) {
    branch.below.iter_mut().for_each(mark_control_plane);
    branch.row.control_plane |= branch.below.iter().any(|below| below.row.control_plane);
}

/// The Cluster that an object names.
pub fn cluster_of<K: ResourceExt>(object: &K) -> Option<&str> {
    object.labels().get(LABEL_CLUSTER).map(String::as_str)
}

/// UID of an object's controller (`ownerReferences`).
pub fn owner<K: ResourceExt>(object: &K) -> Option<&str> {
    let mut owners = object.owner_references().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(owner.uid.as_str())
}

fn labelled<'a, K: ResourceExt>(objects: Vec<&'a K>, cluster: Option<&str>) -> Vec<&'a K> {
    let all = objects.into_iter();
    all.filter(|object| cluster_of(*object) == cluster)
        .collect()
}

fn uids<K: ResourceExt>(objects: &[&K]) -> HashSet<String> {
    objects.iter().filter_map(|object| object.uid()).collect()
}

fn by_owner<'a, K: ResourceExt>(objects: &[&'a K]) -> HashMap<&'a str, Vec<&'a K>> {
    let mut by_owner: HashMap<&str, Vec<&K>> = HashMap::new();
    for object in objects.iter().copied() {
        if let Some(uid) = owner(object) {
            by_owner.entry(uid).or_default().push(object);
        }
    }
    by_owner
}

fn without_owner<'a, K: ResourceExt>(
    objects: &[&'a K],
    owners: &HashSet<String>,
) -> impl Iterator<Item = &'a K> {
    let all = objects.iter().copied();
    all.filter(|object| !owner(*object).is_some_and(|uid| owners.contains(uid)))
}
