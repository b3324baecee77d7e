//! When the server of a Machine is asked.

use super::observed::{Lookup, Observed};
use super::plan::{addons, address, leaving, update};

/// The host is asked only where nothing else can tell: before there is a Node, or the commands after kubeadm have
/// succeeded, while its part in the virtual IP, its version or
/// kubeadm's addons have to be changed, and while no unit is followed whose end will wake us.
pub fn must_ask(observed: &Observed) -> bool {
    let is_there = matches!(observed.node, Lookup::Known(Some(_)));
    let was_there = observed
        .machine
        .status
        .as_ref()
        .is_some_and(|status| status.node_ref.is_some());
    // a Cluster that was deleted by force and applied again does not know that it has a control plane
    let is_unrecorded = observed.machine.is_control_plane()
        && observed.cluster.as_ref().is_some_and(|cluster| {
            cluster.initialized_by.is_none() && !cluster.external && !cluster.deleting
        });
    let is_done = is_there || (was_there && !is_unrecorded);
    let is_done = is_done && !observed.awaits_commands();
    // of a control plane that is deleted, the host tells whether kubeadm runs there, whoever has the turn
    let is_asked = address::is_due(observed)
        || update::is_due(observed)
        || addons::is_due(observed)
        || (observed.is_deleting() && leaving::is_asked(observed));
    observed.follow.is_none() && (is_asked || (!is_done && !observed.is_deleting()))
}
