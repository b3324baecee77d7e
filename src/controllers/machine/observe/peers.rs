//! The objects of its cluster, for what they mean for a Machine.

use std::sync::Arc;

use kube::ResourceExt;

use super::super::Machines;
use crate::controllers::ownership::ProviderObject;
use crate::controllers::paused::paused_by;
use tatara_core::api::names::ANNOTATION_ADDONS_DUE;
use tatara_core::api::{Cluster, Machine};
use tatara_core::machine::{ObservedCluster, Peers};
use tatara_core::planner::peers::{self, Objects, Question};
use tatara_core::settings::Rollout;
use tatara_core::{Key, NodeView};

/// A cluster, by the caches of the watches.
struct Watched<'a> {
    controller: &'a Machines,
    cluster: &'a Cluster,
}

impl Objects for Watched<'_> {
    fn machines(&self) -> Vec<Arc<Machine>> {
        let cluster = self.cluster;
        let key = Key::Cluster(cluster.namespace().unwrap_or_default(), cluster.name_any());
        self.controller.base.stores().machines.by(&key)
    }

    fn control_planes(&self) -> Vec<Arc<Machine>> {
        self.controller.control_planes.machines(self.cluster)
    }

    fn nodes(&self) -> Vec<Arc<NodeView>> {
        let workload = self.controller.workloads.get(self.cluster);
        workload
            .map(|workload| workload.nodes())
            .unwrap_or_default()
    }

    fn by_uid(&self, uid: &str) -> Option<Arc<Machine>> {
        self.controller.base.stores().machines.by_uid(uid)
    }

    fn is_ours(&self, machine: &Machine) -> bool {
        machine.is_ours(self.controller.base.stores())
    }

    fn is_paused(&self, machine: &Machine) -> bool {
        paused_by(self.controller.base.stores(), machine).is_some()
    }
}

/// What the others of its cluster mean for a Machine.
pub(super) fn of(
    controller: &Machines,
    cluster: &Cluster,
    machine: &Machine,
    seen: &ObservedCluster,
    is_control_plane: bool,
) -> Peers {
    // nothing follows before kubeadm's ConfigMaps have the settings
    let goes = seen.settings.rollout == Rollout::Goes;
    let due = cluster.annotations().get(ANNOTATION_ADDONS_DUE);
    let question = Question {
        machine,
        is_control_plane,
        turn: seen.turn.as_ref(),
        settings: seen.spec.as_ref().ok().filter(|_| goes),
        addons_due: due.map(String::as_str),
        recorded: seen.recorded.as_ref(),
    };
    peers::of(
        &question,
        &Watched {
            controller,
            cluster,
        },
    )
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
