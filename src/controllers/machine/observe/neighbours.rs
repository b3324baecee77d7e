//! What the rest of its cluster means for the version of a Machine.

use std::sync::Arc;

use kube::ResourceExt;

use super::super::Machines;
use super::super::settings::next;
use crate::controllers::paused::paused_by;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::conditions::{ConditionType, is_true};
use tatara_core::api::machine::is_same_version;
use tatara_core::api::names::ANNOTATION_ADDONS_DUE;
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine};
use tatara_core::kubeadm::KubernetesVersion;
use tatara_core::machine::neighbours::{
    self, AddonsDue, Moving, Neighbours, is_updating, moves_version, oldest_kubelet, takes_pods,
};
use tatara_core::machine::{apart, reported};
use tatara_core::{Key, NodeView, settings};

/// Nothing is looked up for a Machine whose Node is as its spec wants it.
pub(super) fn of(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    turn: Option<&Turn>,
    is_control_plane: bool,
    spec: Option<&ClusterProviderSpec>,
) -> Neighbours {
    let addons = addons(controller, cluster, machine);
    let behind = spec.map(|spec| settings::behind(machine, spec));
    let behind = behind.filter(settings::Behind::can_follow);
    let follows_before = spec
        .filter(|_| {
            behind
                .as_ref()
                .is_some_and(|behind| behind.unfinished.is_empty())
        })
        .and_then(|spec| follows_before(controller, cluster, machine, spec));
    if is_as_wanted(machine) && behind.is_none() {
        return Neighbours {
            addons,
            follows_before,
            ..Neighbours::default()
        };
    }
    let updating = || updating(controller, cluster, machine, is_control_plane);
    let mut neighbours = Neighbours {
        addons,
        follows_before,
        updating: upgrading(controller, turn, machine, is_control_plane).or_else(updating),
        ..Neighbours::default()
    };
    if is_control_plane {
        neighbours.newest_control_plane = newest(controller, cluster, machine);
    }
    let status = machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    if node.is_none() && is_control_plane {
        let nodes = nodes(controller, cluster);
        neighbours.oldest_kubelet = oldest_kubelet(nodes.iter().map(AsRef::as_ref));
    }
    if let Some(own) = node {
        let nodes = nodes(controller, cluster);
        let others = || nodes.iter().filter(|node| node.name != own);
        neighbours.take_pods = others().any(|node| takes_pods(node));
        // of thousands that follow settings, the next one alone has to know
        if neighbours.follows_before.is_none() || machine.runs_other() != Some(false) {
            neighbours.ahead = ahead(controller, cluster, machine, &nodes);
        }
        if is_control_plane {
            neighbours.oldest_kubelet = oldest_kubelet(others().map(AsRef::as_ref));
        }
    }
    neighbours
}

fn is_as_wanted(machine: &Machine) -> bool {
    machine.runs_other() == Some(false) && !reported::update_is_begun(machine)
}

/// Another Machine whose node follows the settings of the Cluster before this one.
fn follows_before(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    spec: &ClusterProviderSpec,
) -> Option<String> {
    let next = next(controller.base.stores(), cluster, spec)?;
    (next.uid() != machine.uid()).then(|| next.name_any())
}

/// kubeadm's addons that are to follow: the first by name of the control planes that are ready sees to it.
fn addons(controller: &Machines, cluster: &Cluster, machine: &Machine) -> Option<AddonsDue> {
    let due = cluster.annotations().get(ANNOTATION_ADDONS_DUE)?;
    let version: KubernetesVersion = due.parse().ok()?;
    let mut machines = controller.control_planes.machines(cluster);
    machines.sort_by_key(|machine| machine.name_any());
    let runs = |machine: &Machine| runs(machine)?.parse::<KubernetesVersion>().ok();
    let follows = |machine: &Machine| runs(machine).is_some_and(|runs| runs >= version);
    let sees_to_it = |machine: &&Arc<Machine>| {
        let status = machine.status.as_ref();
        let is_ready = status.is_some_and(|s| is_true(&s.conditions, ConditionType::NodeHealthy));
        is_ready && machine.metadata.deletion_timestamp.is_none() && follows(machine)
    };
    let first = machines.iter().find(sees_to_it)?;
    let waits_for = machines.iter().find(|machine| !follows(machine));
    (first.uid() == machine.uid()).then(|| AddonsDue {
        version: due.clone(),
        waits_for: waits_for.map(|machine| machine.name_any()),
    })
}

/// Another Machine that has the turn of an upgrade, and moves a version on which a join depends.
fn upgrading(
    controller: &Machines,
    turn: Option<&Turn>,
    machine: &Machine,
    is_control_plane: bool,
) -> Option<String> {
    let is_others = |turn: &&Turn| {
        turn.action == TurnAction::Upgrade && machine.uid().as_ref() != Some(&turn.machine)
    };
    let moves = |turn: &&Turn| {
        let holder = controller.base.stores().machines.by_uid(&turn.machine);
        holder.is_none_or(|holder| moves_version(&holder, is_control_plane))
    };
    turn.filter(is_others)
        .filter(moves)
        .map(|turn| turn.name.clone())
}

/// A control-plane Machine that is behind kubeadm's record, for a worker that has not joined.
pub(super) fn behind_record(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    recorded: &KubernetesVersion,
) -> Option<(String, KubernetesVersion)> {
    let status = machine.status.as_ref();
    if status.is_some_and(|status| status.node_ref.is_some()) {
        return None;
    }
    let mut machines = controller.control_planes.machines(cluster);
    machines.retain(|other| other.metadata.deletion_timestamp.is_none());
    let moving = machines.iter().map(|other| Moving {
        name: other.name_any(),
        runs: runs(other).and_then(|runs| runs.parse().ok()),
        wants: other
            .versions()
            .and_then(|versions| versions.control_plane.as_deref()?.parse().ok()),
    });
    neighbours::behind_record(recorded, moving.collect(), || {
        let nodes = nodes(controller, cluster);
        oldest_kubelet(nodes.iter().map(AsRef::as_ref)).map(|(_, version)| version)
    })
}

fn nodes(controller: &Machines, cluster: &Cluster) -> Vec<Arc<NodeView>> {
    let workload = controller.workloads.get(cluster);
    workload
        .map(|workload| workload.nodes())
        .unwrap_or_default()
}

/// The newest version that another control-plane Machine runs, by what its own API server said.
fn newest(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
) -> Option<KubernetesVersion> {
    let machines = controller.control_planes.machines(cluster);
    let others = machines.iter().filter(|other| other.uid() != machine.uid());
    others.filter_map(|other| runs(other)?.parse().ok()).max()
}

/// The version that the API server of a Machine's own server said last.
fn runs(machine: &Machine) -> Option<&str> {
    let status = machine.status.as_ref()?;
    status.versions.as_ref()?.control_plane.as_deref()
}

/// Another control-plane Machine that is on its way to another version. Not one that waits for a kubelet, or that goes.
fn updating(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    is_control_plane: bool,
) -> Option<String> {
    let machines = controller.control_planes.machines(cluster);
    let mut others = machines.iter().filter(|other| {
        other.uid() != machine.uid() && other.metadata.deletion_timestamp.is_none()
    });
    let is_updating = |other: &Machine, kubelet: Option<&KubernetesVersion>| {
        let wanted = other.versions().and_then(|v| v.control_plane.as_deref());
        runs(other).zip(wanted).is_some_and(|(runs, wanted)| {
            is_updating(runs, wanted, kubelet)
                || (is_same_version(runs, wanted)
                    && lacks_kubelet(other)
                    && moves_version(other, is_control_plane))
        })
    };
    // thousands of Machines are made while none is updated: their Nodes are walked only for one that is
    let first = others.find(|other| is_updating(other, None))?;
    let nodes = nodes(controller, cluster);
    let oldest = oldest_kubelet(nodes.iter().map(AsRef::as_ref)).map(|(_, version)| version);
    let mut all = [first].into_iter().chain(others);
    all.find(|other| is_updating(other, oldest.as_ref()))
        .map(|other| other.name_any())
}

/// Its update has begun, and its kubelet follows. It may have returned the turn while etcd cannot do without its member.
fn lacks_kubelet(machine: &Machine) -> bool {
    let wanted = machine.versions().map(|versions| &versions.kubelet);
    machine.status.as_ref().is_some_and(|status| {
        let runs = status.versions.as_ref().map(|versions| &versions.kubelet);
        is_true(&status.conditions, ConditionType::Updating)
            && !runs
                .zip(wanted)
                .is_some_and(|(runs, wanted)| is_same_version(runs, wanted))
    })
}

/// A worker that is updated before this one, of those that are not drained together.
fn ahead(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    nodes: &[Arc<NodeView>],
) -> Option<String> {
    let drained = nodes.iter().filter(|node| node.is_cordoned_by_us());
    let drained = drained.map(|node| node.name.as_str()).collect();
    let key = Key::Cluster(cluster.namespace().unwrap_or_default(), cluster.name_any());
    let stores = controller.base.stores();
    let machines = stores.machines.by(&key);
    let is_paused = |other: &Machine| paused_by(stores, other).is_some();
    let others = machines.iter().map(AsRef::as_ref);
    apart::ahead(machine, others, &drained, is_paused).map(ResourceExt::name_any)
}

#[cfg(test)]
#[path = "neighbours_tests.rs"]
mod tests;
