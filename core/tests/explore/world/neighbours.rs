//! What the other Machines of the Cluster mean for one, gathered as the controller does it.

use std::sync::Arc;

use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::machine::is_same_version;
use tatara_core::api::{self, ClusterProviderSpec};
use tatara_core::machine::live::settings::next;
use tatara_core::machine::neighbours::{is_updating, moves_version, oldest_kubelet, takes_pods};
use tatara_core::machine::{Neighbours, is_begun};
use tatara_core::settings::behind;

use super::build::{UIDS, machine, machine_name};
use super::scope::{self, parsed};
use super::shown::node_views;
use super::view::View;

/// The other machines of a Cluster; `spec`: its settings, where its nodes follow them.
pub fn of(
    view: &View,
    own: &api::Machine,
    turn: Option<&Turn>,
    is_plane: bool,
    spec: Option<&ClusterProviderSpec>,
) -> Neighbours {
    let all = view.others.iter().enumerate();
    let all = all.filter_map(|(which, of)| Some(machine(which, of.as_ref()?)));
    let all: Vec<Arc<api::Machine>> = all.collect();
    let planes: Vec<_> = all.iter().filter(|one| one.is_control_plane()).collect();
    let begun: Vec<_> = planes.iter().filter(|one| is_begun(one)).collect();
    let behind = spec.map(|spec| behind(own, spec));
    let behind = behind.filter(tatara_core::settings::Behind::can_follow);
    let mut everybody = all.clone();
    everybody.push(Arc::new(own.clone()));
    let follows_before = spec
        .filter(|_| {
            behind
                .as_ref()
                .is_some_and(|behind| behind.unfinished.is_empty())
        })
        .and_then(|spec| next(&everybody, spec, |_| true, |_| false))
        .filter(|next| next.metadata.uid != own.metadata.uid)
        .and_then(|next| next.metadata.name.clone());
    let is_as_wanted = own.runs_other() == Some(false) && !scope::is_updating(own);
    if is_as_wanted && behind.is_none() {
        return Neighbours {
            follows_before,
            ..Neighbours::default()
        };
    }
    let nodes = node_views(&view.nodes, view.ready);
    let node = own
        .status
        .as_ref()
        .and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    let others = || {
        nodes
            .iter()
            .filter(|other| Some(other.name.as_str()) != node)
    };
    let oldest = oldest_kubelet(nodes.iter().map(AsRef::as_ref)).map(|(_, version)| version);
    let is_moving = |other: &api::Machine| {
        let wanted = other
            .versions()
            .and_then(|all| all.control_plane.as_deref());
        runs(other).zip(wanted).is_some_and(|(runs, wanted)| {
            is_updating(runs, wanted, oldest.as_ref())
                || (is_same_version(runs, wanted)
                    && lacks_kubelet(other)
                    && moves_version(other, is_plane))
        })
    };
    let mut staying = begun
        .iter()
        .filter(|one| one.metadata.deletion_timestamp.is_none());
    let updating = staying
        .find(|one| is_moving(one))
        .and_then(|one| one.metadata.name.clone());
    let upgrades = turn.filter(|turn| {
        let holder = UIDS.iter().position(|uid| *uid == turn.machine);
        let holder = holder.and_then(|which| Some(machine(which, view.others[which].as_ref()?)));
        turn.action == TurnAction::Upgrade
            && turn.machine != UIDS[view.which]
            && holder.is_none_or(|holder| moves_version(&holder, is_plane))
    });
    let newest = begun.iter().filter_map(|one| parsed(runs(one)?)).max();
    let oldest = oldest_kubelet(others().map(AsRef::as_ref));
    Neighbours {
        updating: upgrades.map(|turn| turn.name.clone()).or(updating),
        newest_control_plane: newest.filter(|_| is_plane),
        oldest_kubelet: oldest.filter(|_| is_plane),
        take_pods: node.is_some() && others().any(|node| takes_pods(node)),
        ahead: ahead(view, own, &all, &nodes),
        follows_before,
        ..Neighbours::default()
    }
}

fn ahead(
    view: &View,
    own: &api::Machine,
    all: &[Arc<api::Machine>],
    nodes: &[Arc<tatara_core::NodeView>],
) -> Option<String> {
    view.own.status.node?;
    let drained = nodes.iter().filter(|node| node.is_cordoned_by_us());
    let drained = drained.map(|node| node.name.as_str()).collect();
    let others = all.iter().map(AsRef::as_ref);
    let found = tatara_core::machine::apart::ahead(own, others, &drained, |_| false)?;
    let uid = found.metadata.uid.as_deref()?;
    let which = UIDS.iter().position(|one| *one == uid)?;
    Some(machine_name(which).into())
}

fn runs(machine: &api::Machine) -> Option<&str> {
    let versions = machine.status.as_ref()?.versions.as_ref()?;
    versions.control_plane.as_deref()
}

fn lacks_kubelet(machine: &api::Machine) -> bool {
    let wanted = machine.versions().map(|versions| &versions.kubelet);
    let versions = machine
        .status
        .as_ref()
        .and_then(|status| status.versions.as_ref());
    let runs = versions.map(|versions| &versions.kubelet);
    let is_same = runs
        .zip(wanted)
        .is_some_and(|(runs, wanted)| is_same_version(runs, wanted));
    scope::is_updating(machine) && !is_same
}
