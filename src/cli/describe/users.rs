//! The users of an object that belongs to no Cluster.

use std::collections::HashSet;

use kube::ResourceExt;

use super::forest::{cluster_of, owner};
use super::kind::Kind;
use super::kinds;
use super::provider::judged;
use super::snapshot::Snapshot;
use super::tree::{Branch, branch};
use tatara_core::api::names::ANNOTATION_HYPERVISOR;
use tatara_core::api::{Machine, ProviderSpec};

/// A Hypervisor with its Machines.
pub fn of_hypervisor(snapshot: &Snapshot, name: &str) -> Option<Branch> {
    let hypervisor = snapshot.hypervisors.get(name)?;
    let standing = kinds::hypervisor(hypervisor);
    let mut root = branch(Kind::Hypervisor.as_str(), hypervisor, standing);
    let machines = snapshot.machines.sorted().into_iter();
    let on_it = machines.filter(|machine| {
        machine
            .annotations()
            .get(ANNOTATION_HYPERVISOR)
            .is_some_and(|on| on == name)
    });
    root.below = on_it.map(|one| machine(snapshot, one)).collect();
    Some(root)
}

/// A MachineClass with the objects that refer to it, without those whose owner does so too.
pub fn of_class(snapshot: &Snapshot, name: &str) -> Option<Branch> {
    let class = snapshot.classes.get(name)?;
    let names_it = |spec: &ProviderSpec| {
        let source = spec.value_from.as_ref();
        let class = source.and_then(|source| source.machine_class.as_ref());
        class.is_some_and(|class| class.name == name)
    };
    let mut users = Vec::new();
    let mut known = HashSet::new();
    for deployment in snapshot.deployments.sorted() {
        if names_it(&deployment.spec.template.spec.provider_spec) {
            let cluster = cluster_of(deployment).and_then(|name| snapshot.clusters.get(name));
            let standing = judged(deployment, cluster, kinds::deployment(deployment));
            users.push(branch(
                Kind::MachineDeployment.as_str(),
                deployment,
                standing,
            ));
            known.extend(deployment.uid());
        }
    }
    for set in snapshot.sets.sorted() {
        if names_it(&set.spec.template.spec.provider_spec) {
            known.extend(set.uid());
            if !owner(set).is_some_and(|uid| known.contains(uid)) {
                let cluster = cluster_of(set).and_then(|name| snapshot.clusters.get(name));
                let standing = judged(set, cluster, kinds::set(set));
                users.push(branch(Kind::MachineSet.as_str(), set, standing));
            }
        }
    }
    for one in snapshot.machines.sorted() {
        let is_covered = owner(one).is_some_and(|uid| known.contains(uid));
        if names_it(&one.spec.provider_spec) && !is_covered {
            users.push(machine(snapshot, one));
        }
    }
    let mut root = branch(
        Kind::MachineClass.as_str(),
        class,
        kinds::class(class, users.len()),
    );
    root.below = users;
    Some(root)
}

fn machine(snapshot: &Snapshot, machine: &Machine) -> Branch {
    let cluster = cluster_of(machine).and_then(|name| snapshot.clusters.get(name));
    let standing = judged(machine, cluster, kinds::machine(machine, None));
    branch(Kind::Machine.as_str(), machine, standing)
}
