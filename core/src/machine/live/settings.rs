//! The settings with which a node is made, and whether one may begin to follow those of its
//! Cluster: one of a cluster does at a time.

use std::sync::Arc;

use kube::ResourceExt;

use crate::api::Machine;
use crate::api::cluster::TurnAction;
use crate::api::conditions::Finding;
use crate::machine::plan::update::waits_for;
use crate::machine::{Lookup, Observed, is_begun};
use crate::node::JobKind;
use crate::settings::{self, Settings};

/// Whether a Machine goes on whoever is next: it has the turn, is drained, has begun, or moves to
/// another version.
pub fn goes_on(observed: &Observed) -> bool {
    let machine = &observed.machine;
    // who has the turn goes on: the others wait for it
    let turn = observed
        .cluster
        .as_ref()
        .and_then(|cluster| cluster.turn.as_ref());
    let has_turn = turn.is_some_and(|turn| {
        turn.action == TurnAction::Upgrade && Some(&turn.machine) == machine.uid().as_ref()
    });
    // who is drained goes on as well
    let is_drained = match &observed.node {
        Lookup::Known(Some(node)) => node.is_cordoned_by_us(),
        _ => false,
    };
    // another version is not begun by settings
    let is_other = machine.runs_other() != Some(false);
    has_turn || is_drained || settings::is_unfinished(machine) || is_other
}

/// Why the node of a Machine may not begin to follow by now: another Machine is next.
pub fn may_begin(observed: &Observed, next: &Machine) -> Option<Finding> {
    (next.uid() != observed.machine.uid()).then(|| waits_for(observed, &next.name_any()))
}

/// The record of the settings that the node is about to be created with; `None` if this job creates
/// none. `of_others`: what the control plane was made with, asked for while the Cluster has no
/// record of that.
pub fn created_with(
    observed: &Observed,
    kind: JobKind,
    of_others: impl FnOnce() -> Option<Settings>,
) -> Option<String> {
    let cluster = observed.cluster.as_ref()?;
    let (spec, recorded) = (cluster.spec.as_ref().ok()?, &cluster.settings.recorded);
    if !matches!(kind, JobKind::Init | JobKind::Join) {
        return None;
    }
    let recorded = Some(recorded.clone()).filter(|all| !all.is_empty());
    let recorded = recorded.or_else(of_others);
    let is_control_plane = observed.machine.is_control_plane();
    Some(settings::of(spec, kind, is_control_plane, recorded).to_string())
}

/// What the control plane of the Machine's Cluster was made with, by the record of the Machine that
/// made it (`first`, if that exists), or of another control plane on whose machine kubeadm was
/// started.
pub fn made_with(
    observed: &Observed,
    first: Option<&Machine>,
    control_planes: &[Arc<Machine>],
) -> Option<Settings> {
    let others = control_planes.iter().map(AsRef::as_ref);
    let mut others = others.filter(|other| other.uid() != observed.machine.uid());
    let made = first.or_else(|| others.find(|other| is_begun(other)))?;
    settings::recorded(made.annotations())
}
