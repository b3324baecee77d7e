//! The objects of the Cluster, for what they mean for a Machine.

use std::sync::Arc;

use tatara_core::NodeView;
use tatara_core::api::cluster::Turn;
use tatara_core::api::{self, ClusterProviderSpec};
use tatara_core::machine::{Peers, is_begun};
use tatara_core::planner::peers::{self, Objects, Question};

use super::build::{UIDS, machine};
use super::shown::node_views;
use super::view::View;

/// The Cluster of a view, and the Machine that reads it.
struct Viewed<'a> {
    view: &'a View,
    own: &'a api::Machine,
}

impl Objects for Viewed<'_> {
    fn machines(&self) -> Vec<Arc<api::Machine>> {
        let all = self.view.others.iter().enumerate();
        let all = all.filter_map(|(which, of)| Some(machine(which, of.as_ref()?)));
        all.chain([Arc::new(self.own.clone())]).collect()
    }

    fn control_planes(&self) -> Vec<Arc<api::Machine>> {
        let mut all = self.machines();
        all.retain(|one| one.is_control_plane() && is_begun(one));
        all
    }

    fn nodes(&self) -> Vec<Arc<NodeView>> {
        node_views(&self.view.nodes, self.view.ready)
    }

    fn by_uid(&self, uid: &str) -> Option<Arc<api::Machine>> {
        let which = UIDS.iter().position(|one| *one == uid)?;
        Some(machine(which, self.view.others[which].as_ref()?))
    }

    fn is_ours(&self, _: &api::Machine) -> bool {
        true
    }

    fn is_paused(&self, _: &api::Machine) -> bool {
        false
    }
}

/// What the others mean for a Machine; `settings`: those of the Cluster, where its nodes follow them.
pub fn of(
    view: &View,
    own: &api::Machine,
    turn: Option<&Turn>,
    is_control_plane: bool,
    settings: Option<&ClusterProviderSpec>,
) -> Peers {
    let question = Question {
        machine: own,
        is_control_plane,
        turn,
        settings,
        addons_due: None,
        recorded: None,
    };
    peers::of(&question, &Viewed { view, own })
}
