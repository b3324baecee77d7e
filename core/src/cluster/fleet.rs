//! Whether a server of ours has, or may have, a member of etcd. Pure.

use std::sync::Arc;

use k8s_openapi::api::core::v1::NodeAddress;
use kube::{Resource, ResourceExt};

use crate::NodeView;
use crate::api::conditions::{ConditionType, is_true};
use crate::api::names::{ANNOTATION_PAUSED, LABEL_CLUSTER};
use crate::api::readable::unreadable;
use crate::api::{Host, Hypervisor, Machine};
use crate::control_plane::{Member, Members, orphaned_members};
use crate::machine::is_begun;
use crate::machine::plan::claim::rests;
use crate::remedy;

/// The label of each Node that kubeadm made a control plane.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// The servers of a namespace, and who runs on them.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// All Machines, whatever their Cluster.
    pub machines: Vec<Arc<Machine>>,
    /// All Hosts, claimed or not.
    pub hosts: Vec<Arc<Host>>,
    /// All Hypervisors.
    pub hypervisors: Vec<Arc<Hypervisor>>,
}

impl Fleet {
    /// Who has a member, or why that is not known; `None` if none of them has it.
    pub fn holder(&self, member: &Member) -> Option<String> {
        let machines = self.machines.iter().filter(|one| has(one, member));
        let machine = machines
            .map(|one| format!("Machine {} has its name or address", one.name_any()))
            .next();
        let mut hosts = self.hosts.iter();
        machine
            .or_else(|| hosts.find_map(|host| on(host, member)))
            .or_else(|| self.unknown())
    }

    /// The Nodes that may be that of a member: those with its name or address, and each control
    /// plane that is neither a Machine's nor another member's, because a Node may have another name
    /// and other addresses than its member.
    pub fn nodes_of(
        &self,
        cluster: &str,
        (members, member): (&Members, &Member),
        nodes: &[Arc<NodeView>],
    ) -> Vec<Arc<NodeView>> {
        let is_others = |node: &NodeView| {
            let mut others = members.list.iter().filter(|other| other.id != member.id);
            others.any(|other| orphaned_members::is_node_of(other, node))
        };
        let is_explained = |node: &NodeView| {
            self.machines
                .iter()
                .any(|one| is_node_of(one, cluster, node))
                || is_others(node)
        };
        let may_be = |node: &&Arc<NodeView>| {
            orphaned_members::is_node_of(member, node)
                || (node.labels.contains_key(CONTROL_PLANE) && !is_explained(node))
        };
        nodes.iter().filter(may_be).cloned().collect()
    }

    /// What does not show whether it has the member.
    fn unknown(&self) -> Option<String> {
        let lacks_addresses = |host: &&Arc<Host>| addresses(host).is_none();
        let host = self.hosts.iter().find(lacks_addresses).map(|host| {
            let (name, namespace) = (host.name_any(), host.namespace().unwrap_or_default());
            format!(
                "Host {name} has not reported its addresses, and may be its server: make it reachable ({}). Only if it is certainly another server: {}, and register it again later",
                remedy::conditions("host", &namespace, &name),
                remedy::host::delete(&namespace, &name)
            )
        });
        let machine = || {
            let machine = self.machines.iter().find(|machine| self.is_lost(machine))?;
            Some(format!(
                "kubeadm was started for Machine {}, which has no address, and may have it",
                machine.name_any()
            ))
        };
        let hypervisor = || {
            let is_unclear = |one: &&Arc<Hypervisor>| !is_clear(one);
            let one = self.hypervisors.iter().find(is_unclear)?;
            Some(format!(
                "Hypervisor {} is not known to have virtual machines of existing Machines only, and may have its server; see its conditions Reachable and MachinesKnown",
                one.name_any()
            ))
        };
        host.or_else(machine)
            .or_else(hypervisor)
            .or_else(|| bad(&self.machines))
            .or_else(|| bad(&self.hosts))
            .or_else(|| bad(&self.hypervisors))
    }

    /// Whether a Machine may have a member that does not show here.
    fn is_lost(&self, machine: &Machine) -> bool {
        let status = machine.status.as_ref();
        let uid = machine.uid().unwrap_or_default();
        let claims = |host: &Arc<Host>| {
            host.spec
                .consumer_ref
                .as_ref()
                .is_some_and(|c| c.uid == uid)
        };
        is_begun(machine)
            && status.is_none_or(|status| status.addresses.is_empty())
            && !self.hosts.iter().any(claims)
    }
}

/// Whether a Node is that of a Machine of a Cluster.
fn is_node_of(machine: &Machine, cluster: &str, node: &NodeView) -> bool {
    let status = machine.status.as_ref();
    let name = status.and_then(|status| status.node_ref.as_ref()?.name.as_ref());
    let is_its = machine
        .labels()
        .get(LABEL_CLUSTER)
        .is_some_and(|of| of == cluster);
    let has = |address: &NodeAddress| {
        let mut own = status.into_iter().flat_map(|status| &status.addresses);
        own.any(|one| one.address == address.address)
    };
    is_its && (name == Some(&node.name) || node.addresses.iter().any(has))
}

/// Whether a Machine has the name or address of a member.
fn has(machine: &Machine, member: &Member) -> bool {
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_ref());
    let name = machine.name_any();
    let names = [Some(name.as_str()), node.map(String::as_str)];
    let mut addresses = status.into_iter().flat_map(|status| &status.addresses);
    is_named(member, names.into_iter().flatten())
        || addresses.any(|address| member.is_at(&address.address))
}

/// Why a member may be on a Host that has its name or address. On one that is free and clean there
/// is no etcd.
fn on(host: &Host, member: &Member) -> Option<String> {
    let facts = host
        .status
        .as_ref()
        .and_then(|status| status.facts.as_ref());
    let name = host.name_any();
    let names = [
        Some(name.as_str()),
        facts.map(|facts| facts.hostname.as_str()),
    ];
    let mut addresses = addresses(host).into_iter().flatten();
    let is_its = member.is_at(&host.spec.ssh.address)
        || addresses.any(|address| member.is_at(address))
        || is_named(member, names.into_iter().flatten());
    if !is_its {
        return None;
    }
    let conditions = host.status.as_ref().map(|status| &status.conditions);
    let holds = |condition| conditions.is_some_and(|all| is_true(all, condition));
    match &host.spec.consumer_ref {
        Some(claim) => Some(format!(
            "Host {name} has its name or address, and is claimed for Machine {}",
            claim.name
        )),
        // its conditions are those of before
        None if host.annotations().contains_key(ANNOTATION_PAUSED) => Some(format!(
            "Host {name} has its name or address, and is paused, so that nobody looks whether it is clean; if it may be looked at: {}",
            remedy::resume("host", &host.namespace().unwrap_or_default(), &name)
        )),
        None if holds(ConditionType::Clean)
            && (holds(ConditionType::Reachable) || conditions.is_some_and(|all| rests(all))) =>
        {
            None
        }
        None => Some(format!(
            "Host {name} has its name or address, and is not known to be clean; see its conditions Reachable and Clean"
        )),
    }
}

fn is_named<'a>(member: &Member, mut names: impl Iterator<Item = &'a str>) -> bool {
    member.is_started() && names.any(|name| name == member.name)
}

/// What a Host reported of its addresses.
fn addresses(host: &Host) -> Option<&Vec<String>> {
    let facts = host.status.as_ref()?.facts.as_ref()?;
    Some(&facts.addresses).filter(|all| !all.is_empty())
}

fn is_clear(hypervisor: &Hypervisor) -> bool {
    let conditions = hypervisor.status.as_ref().map(|status| &status.conditions);
    let needed = [ConditionType::Reachable, ConditionType::MachinesKnown];
    conditions.is_some_and(|all| needed.into_iter().all(|condition| is_true(all, condition)))
}

fn bad<K: Resource<DynamicType = ()>>(all: &[Arc<K>]) -> Option<String> {
    let bad = all.iter().find(|one| unreadable(one.as_ref()).is_some())?;
    Some(format!(
        "{} {} cannot be read, and may have it",
        K::kind(&()),
        bad.name_any()
    ))
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
