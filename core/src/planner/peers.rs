//! What the other Machines of a cluster, and their Nodes, mean for one: versions, and who does
//! something before it. From objects alone.

use std::sync::Arc;

use kube::ResourceExt;

use super::settings::next_to_follow;
use super::{addons, drains};
use crate::api::cluster::Turn;
use crate::api::{ClusterProviderSpec, Machine};
use crate::kubeadm::KubernetesVersion;
use crate::machine::peer_versions::{
    Moving, behind_record, first_updating, newest, oldest_kubelet, runs, upgrading,
};
use crate::machine::{Lane, PeerVersions, Peers, reported};
use crate::{NodeView, settings};

/// The objects of a cluster, as a pass reads them.
pub trait Objects {
    /// Its Machines.
    fn machines(&self) -> Vec<Arc<Machine>>;
    /// Its control-plane Machines for which kubeadm was begun.
    fn control_planes(&self) -> Vec<Arc<Machine>>;
    /// Its Nodes; none while they cannot be read.
    fn nodes(&self) -> Vec<Arc<NodeView>>;
    /// A Machine by its UID, also of another cluster.
    fn by_uid(&self, uid: &str) -> Option<Arc<Machine>>;
    /// Whether a Machine belongs to this provider.
    fn is_ours(&self, machine: &Machine) -> bool;
    /// Whether nothing is done about a Machine, because it or something above it is paused.
    fn is_paused(&self, machine: &Machine) -> bool;
}

/// The Machine that is asked about, and what its Cluster has for it.
pub struct Question<'a> {
    /// The Machine.
    pub machine: &'a Machine,
    /// It is a control plane, or acts as one.
    pub is_control_plane: bool,
    /// Who has the control-plane turn.
    pub turn: Option<&'a Turn>,
    /// The settings that nodes follow now; `None` while nothing follows.
    pub settings: Option<&'a ClusterProviderSpec>,
    /// The version to which kubeadm's addons are to be brought.
    pub addons_due: Option<&'a str>,
    /// The version that kubeadm has recorded, as last read.
    pub recorded: Option<&'a KubernetesVersion>,
}

/// What the others mean for a Machine. Nothing is looked up for one whose Node is as its spec wants
/// it.
pub fn of(question: &Question<'_>, objects: &impl Objects) -> Peers {
    let machine = question.machine;
    let behind = question
        .settings
        .map(|spec| settings::behind(machine, spec));
    let behind = behind.filter(settings::Behind::can_follow);
    let begins = behind.as_ref().is_some_and(|all| all.unfinished.is_empty());
    let follows_after = question.settings.filter(|_| begins).and_then(|spec| {
        let is_ours = |one: &Machine| objects.is_ours(one);
        let is_paused = |one: &Machine| objects.is_paused(one);
        let next = next_to_follow(&objects.machines(), spec, is_ours, is_paused)?;
        (next.metadata.uid != machine.metadata.uid).then(|| next.name_any())
    });
    let mut peers = Peers {
        versions: PeerVersions {
            behind_record: of_record(question, objects),
            ..PeerVersions::default()
        },
        lane: Lane {
            addons: question.addons_due.and_then(|due| {
                let planes = objects.control_planes();
                addons::of(machine, due, planes.iter().map(AsRef::as_ref))
            }),
            drained_after: None,
            follows_after,
        },
        take_pods: false,
    };
    let is_as_wanted = machine.runs_other() == Some(false) && !reported::update_is_begun(machine);
    if !is_as_wanted || behind.is_some() {
        add_versions(question, objects, &mut peers.versions);
        add_nodes(question, objects, &mut peers);
    }
    peers
}

/// Who moves a version on which this Machine depends.
fn add_versions(question: &Question<'_>, objects: &impl Objects, found: &mut PeerVersions) {
    let (machine, is_control_plane) = (question.machine, question.is_control_plane);
    let planes = objects.control_planes();
    let others = || {
        let others = planes.iter().map(AsRef::as_ref);
        others.filter(|other: &&Machine| other.metadata.uid != machine.metadata.uid)
    };
    let oldest = || {
        let nodes = objects.nodes();
        oldest_kubelet(nodes.iter().map(AsRef::as_ref)).map(|(_, version)| version)
    };
    found.updating = upgrading(question.turn, machine, is_control_plane, |uid| {
        objects.by_uid(uid)
    })
    .or_else(|| first_updating(others(), is_control_plane, oldest));
    found.newest_control_plane = newest(others()).filter(|_| is_control_plane);
}

/// What the Nodes show: the oldest kubelet; and of a Machine that has a Node, who is drained before
/// it, and whether another takes its pods.
fn add_nodes(question: &Question<'_>, objects: &impl Objects, peers: &mut Peers) {
    let (machine, is_control_plane) = (question.machine, question.is_control_plane);
    let status = machine.status.as_ref();
    let own = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    if own.is_none() && !is_control_plane {
        return;
    }
    let nodes = objects.nodes();
    let others = || nodes.iter().filter(|node| Some(node.name.as_str()) != own);
    if is_control_plane {
        peers.versions.oldest_kubelet = oldest_kubelet(others().map(AsRef::as_ref));
    }
    if own.is_none() {
        return;
    }
    peers.take_pods = others().any(|node| node.takes_pods());
    // of thousands that follow settings, the next one alone has to know
    if peers.lane.follows_after.is_none() || machine.runs_other() != Some(false) {
        let drained = nodes.iter().filter(|node| node.is_cordoned_by_us());
        let drained = drained.map(|node| node.name.as_str()).collect();
        let machines = objects.machines();
        let is_paused = |other: &Machine| objects.is_paused(other);
        let ahead = drains::ahead(
            machine,
            machines.iter().map(AsRef::as_ref),
            &drained,
            is_paused,
        );
        peers.lane.drained_after = ahead.map(ResourceExt::name_any);
    }
}

/// A control-plane Machine that is behind kubeadm's record, for a worker that has not joined.
fn of_record(
    question: &Question<'_>,
    objects: &impl Objects,
) -> Option<(String, KubernetesVersion)> {
    let recorded = question.recorded.filter(|_| !question.is_control_plane)?;
    let status = question.machine.status.as_ref();
    if status.is_some_and(|status| status.node_ref.is_some()) {
        return None;
    }
    let mut planes = objects.control_planes();
    planes.retain(|other| other.metadata.deletion_timestamp.is_none());
    let moving = planes.iter().map(|other| Moving {
        name: other.name_any(),
        runs: runs(other).and_then(|runs| runs.parse().ok()),
        wants: other
            .versions()
            .and_then(|versions| versions.control_plane.as_deref()?.parse().ok()),
    });
    behind_record(recorded, moving.collect(), || {
        let nodes = objects.nodes();
        oldest_kubelet(nodes.iter().map(AsRef::as_ref)).map(|(_, version)| version)
    })
}
