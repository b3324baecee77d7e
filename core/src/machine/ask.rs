//! When the server of a Machine is asked.

use super::cluster::ObservedCluster;
use super::member::LastLook;
use super::observed::{Lookup, Observed};
use super::plan::{addons, address, leaving, update};
use crate::api::conditions::{ConditionType, is_true};

/// The host is asked only where nothing else can tell: before there is a Node, or the commands after kubeadm have
/// succeeded, while its part in the virtual IP, its version or kubeadm's addons have to be changed, where a job may change its etcd
/// member beside what is recorded, and while no unit is followed whose end will wake us.
pub fn must_ask(observed: &Observed) -> bool {
    let is_there = matches!(observed.node, Lookup::Known(Some(_)));
    // a Cluster that was deleted by force and applied again does not know that it has a control plane
    let is_unrecorded = observed.machine.is_control_plane()
        && observed
            .cluster
            .as_ref()
            .is_some_and(ObservedCluster::is_unrecorded);
    let is_done = (is_there || observed.had_node()) && !is_unrecorded;
    let is_done = is_done && !observed.awaits_commands();
    let is_asked = address::is_due(observed)
        || update::is_due(observed)
        || addons::is_due(observed)
        || is_member_in_doubt(observed);
    observed.follow.is_none() && (is_asked || (!is_done && !observed.is_deleting()))
}

/// Whether a job may change the member of a control plane beside what is recorded, and the host tells: this process has not asked it
/// yet, or a job ran there; or the Machine is deleted, and not in its drain, which may last.
fn is_member_in_doubt(observed: &Observed) -> bool {
    let conditions = observed.machine.status.as_ref();
    let conditions = conditions.map(|status| &*status.conditions);
    let is_drained = conditions.is_some_and(|all| is_true(all, ConditionType::Draining));
    let leaves = observed.is_deleting() && !is_drained;
    leaving::is_asked(observed) && (leaves || observed.last_look != LastLook::Idle)
}
