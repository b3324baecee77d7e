//! The objects of a cluster as a tree, in the order that people look for them.

use std::collections::{BTreeMap, HashMap, HashSet};

use kube::ResourceExt;

use super::kinds;
use super::provider::told;
use super::snapshot::Snapshot;
use super::standing::Standing;
use crate::api::names::ANNOTATION_HYPERVISOR;
use crate::api::{Cluster, Host, Machine, MachineSet};

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kind of the object.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Whether it belongs to the control plane.
    pub control_plane: bool,
    /// How it stands.
    pub standing: Standing,
    /// For itself and each ancestor but the Cluster, outermost first: whether a sibling follows.
    pub rails: Vec<bool>,
}

/// All rows, outermost first; none while the Cluster is not there.
pub fn rows(snapshot: &Snapshot) -> Vec<Row> {
    let Some(cluster) = snapshot.cluster() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    flatten(Forest::of(snapshot).root(cluster), &[], &mut rows);
    rows
}

/// The Hosts of the namespace that nobody holds, in one line; none where there are no Hosts.
pub fn free_hosts(snapshot: &Snapshot) -> Option<String> {
    let hosts = snapshot.hosts.sorted();
    if hosts.is_empty() {
        return None;
    }
    let mut free = Vec::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in hosts
        .into_iter()
        .filter(|host| host.spec.consumer_ref.is_none())
    {
        let Standing { state, reason, .. } = kinds::host(host);
        if state == "Available" {
            free.push(host.name_any());
        } else if reason.is_empty() {
            others.entry(state).or_default().push(host.name_any());
        } else {
            let name = format!("{} ({reason})", host.name_any());
            others.entry(state).or_default().push(name);
        }
    }
    let mut parts = vec![match free.len() {
        0 => "no host free".to_owned(),
        1 => format!("1 host free: {}", free[0]),
        n => format!("{n} hosts free: {}", free.join(", ")),
    }];
    let others = others
        .iter()
        .map(|(state, names)| format!("{} {state}: {}", names.len(), names.join(", ")));
    parts.extend(others);
    Some(parts.join("; "))
}

struct Branch {
    row: Row,
    below: Vec<Branch>,
}

fn branch(kind: &'static str, object: &impl ResourceExt, standing: Standing) -> Branch {
    let row = Row {
        kind,
        name: object.name_any(),
        control_plane: false,
        standing,
        rails: Vec::new(),
    };
    Branch {
        row,
        below: Vec::new(),
    }
}

fn flatten(branch: Branch, rails: &[bool], rows: &mut Vec<Row>) {
    let Branch { row, below } = branch;
    rows.push(Row {
        rails: rails.to_vec(),
        ..row
    });
    let last = below.len().saturating_sub(1);
    for (at, child) in below.into_iter().enumerate() {
        let rails: Vec<bool> = rails.iter().copied().chain([at < last]).collect();
        flatten(child, &rails, rows);
    }
}

/// Who is below whom.
struct Forest<'a> {
    snapshot: &'a Snapshot,
    machines: HashMap<&'a str, Vec<&'a Machine>>,
    sets: HashMap<&'a str, Vec<&'a MachineSet>>,
    hosts: HashMap<&'a str, &'a Host>,
}

impl<'a> Forest<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let hosts = snapshot.hosts.sorted().into_iter();
        let held =
            hosts.filter_map(|host| Some((host.spec.consumer_ref.as_ref()?.uid.as_str(), host)));
        Self {
            snapshot,
            machines: by_owner(snapshot.machines.sorted()),
            sets: by_owner(snapshot.sets.sorted()),
            hosts: held.collect(),
        }
    }

    /// The control plane, MachineDeployments, sets and Machines of nobody, profile, hosts that are
    /// still being given back.
    fn root(&self, cluster: &Cluster) -> Branch {
        let standing = told(cluster, cluster, kinds::cluster(cluster));
        let mut root = branch("Cluster", cluster, standing);
        let deployments = self.snapshot.deployments.sorted();
        let known: HashSet<String> = deployments.iter().filter_map(|d| d.uid()).collect();
        let deployments = deployments.into_iter().map(|deployment| {
            let standing = told(deployment, cluster, kinds::deployment(deployment));
            let mut below = branch("MachineDeployment", deployment, standing);
            let uid = deployment.uid().unwrap_or_default();
            let sets = self.sets.get(uid.as_str()).into_iter().flatten();
            below.below = sets.map(|set| self.set(set, cluster)).collect();
            below
        });
        let mut below: Vec<Branch> = deployments.collect();
        let orphans = |set: &&MachineSet| !owner(*set).is_some_and(|uid| known.contains(uid));
        let sets = self.snapshot.sets.sorted();
        below.extend(
            sets.iter()
                .copied()
                .filter(orphans)
                .map(|set| self.set(set, cluster)),
        );
        let known: HashSet<String> = sets.iter().filter_map(|set| set.uid()).collect();
        let machines = self.snapshot.machines.sorted().into_iter();
        let orphans =
            machines.filter(|machine| !owner(*machine).is_some_and(|uid| known.contains(uid)));
        below.extend(orphans.map(|machine| self.machine(machine, cluster)));
        below.iter_mut().for_each(mark_control_plane);
        below.sort_by_key(|branch| !branch.row.control_plane);
        let profiles = self.snapshot.profiles.sorted().into_iter();
        below.extend(
            profiles.map(|profile| branch("ClusterProfile", profile, kinds::profile(profile))),
        );
        below.extend(self.hosts_given_back(cluster));
        root.below = below;
        root
    }

    fn set(&self, set: &MachineSet, cluster: &Cluster) -> Branch {
        let standing = told(set, cluster, kinds::set(set));
        let mut below = branch("MachineSet", set, standing);
        let uid = set.uid().unwrap_or_default();
        let machines = self.machines.get(uid.as_str()).into_iter().flatten();
        below.below = machines
            .map(|machine| self.machine(machine, cluster))
            .collect();
        below
    }

    fn machine(&self, machine: &Machine, cluster: &Cluster) -> Branch {
        let host = machine.uid().and_then(|uid| self.hosts.get(uid.as_str()));
        let place = host.map(|host| match kinds::host(host).state.as_str() {
            "Claimed" => host.name_any(),
            state => format!("{} ({state})", host.name_any()),
        });
        let hypervisor = machine.annotations().get(ANNOTATION_HYPERVISOR);
        let place = place.or_else(|| hypervisor.cloned());
        let standing = told(machine, cluster, kinds::machine(machine, place));
        let mut below = branch("Machine", machine, standing);
        below.row.control_plane = machine.is_control_plane();
        below
    }

    /// Hosts that a Machine of this cluster held that is gone.
    fn hosts_given_back(&self, cluster: &Cluster) -> Vec<Branch> {
        let machines: HashSet<String> = self
            .snapshot
            .machines
            .sorted()
            .iter()
            .filter_map(|m| m.uid())
            .collect();
        let hosts = self.snapshot.hosts.sorted().into_iter().filter(|host| {
            let consumer = host.spec.consumer_ref.as_ref();
            consumer.is_some_and(|c| c.cluster == cluster.name_any() && !machines.contains(&c.uid))
        });
        hosts
            .map(|host| branch("Host", host, kinds::host(host)))
            .collect()
    }
}

/// What has a control-plane Machine below it belongs to the control plane.
fn mark_control_plane(branch: &mut Branch) {
    branch.below.iter_mut().for_each(mark_control_plane);
    branch.row.control_plane |= branch.below.iter().any(|below| below.row.control_plane);
}

fn owner<K: ResourceExt>(object: &K) -> Option<&str> {
    let mut owners = object.owner_references().iter();
    Some(
        owners
            .find(|owner| owner.controller == Some(true))?
            .uid
            .as_str(),
    )
}

fn by_owner<K: ResourceExt>(objects: Vec<&K>) -> HashMap<&str, Vec<&K>> {
    let mut by_owner: HashMap<&str, Vec<&K>> = HashMap::new();
    for object in objects {
        if let Some(uid) = owner(object) {
            by_owner.entry(uid).or_default().push(object);
        }
    }
    by_owner
}
