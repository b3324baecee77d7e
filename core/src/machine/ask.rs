//! When the server of a Machine is asked.

use k8s_openapi::jiff::Timestamp;

use super::cluster::ObservedCluster;
use super::member::LastLook;
use super::observed::{Lookup, Observed, Stuck};
use super::plan::{addons, address, deletion, membership, update};
use crate::api::conditions::{ConditionType, is_true};

/// The host is asked only where nothing else can tell: before there is a Node, or the commands
/// after kubeadm have succeeded, while its part in the virtual IP, its version or kubeadm's addons
/// have to be changed, where a job may change its etcd member beside what is recorded, and while no
/// unit is followed whose end will wake us.
pub fn must_ask(observed: &Observed) -> bool {
    let is_there = matches!(observed.node, Lookup::Known(Some(_)));
    // a Cluster that was deleted by force and applied again does not know that it has a control
    // plane
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
        || is_member_in_doubt(observed)
        || is_begun_in_doubt(observed);
    observed.follow.is_none() && (is_asked || (!is_done && !observed.is_deleting()))
}

/// The same of a host that it has released. Its own controller tells how far that is; the host is
/// asked when it has been reset, before a member that etcd still lists there is removed, and before
/// a time limit gives it up that was silent: it may answer by now.
pub fn must_ask_released(observed: &Observed, host: Released<'_>, now: Timestamp) -> bool {
    let is_over = host.is_freed && host.stuck.is_none();
    let is_given_up = match host.stuck {
        Some(Stuck::Retained) => return true,
        Some(Stuck::Silent(since)) => {
            deletion::given_up_at(observed, since, now).is_some_and(|end| end <= now)
        }
        _ => false,
    };
    let etcd = observed.cluster.as_ref().map(|cluster| &cluster.etcd);
    let is_listed = match etcd {
        Some(Lookup::Known(members)) => {
            let (_, names) = observed.member_signs();
            members.of(&[host.address], &names).is_some()
        }
        _ => false,
    };
    is_over || is_given_up || (is_listed && membership::is_asked(observed))
}

/// A host that a Machine has released, as its conditions tell.
#[derive(Clone, Copy, Debug)]
pub struct Released<'a> {
    /// Its address for other nodes.
    pub address: &'a str,
    /// Why it is not reset.
    pub stuck: Option<Stuck>,
    /// It was reset and waits for its Machine, or is not reset because of its control plane.
    pub is_freed: bool,
}

/// Whether a control plane that is being deleted may have been begun although nothing is recorded
/// of it, as after the restore of a backup: its host is asked before it is released. Whether the
/// Cluster has a control plane at all, the backup may not know either.
fn is_begun_in_doubt(observed: &Observed) -> bool {
    let stays = |cluster: &ObservedCluster| !cluster.external && !cluster.deleting;
    observed.is_deleting()
        && observed.acts_as_control_plane()
        && !observed.is_begun()
        && observed.cluster.as_ref().is_some_and(stays)
}

/// Whether a job may change the member of a control plane beside what is recorded, and the host
/// tells: this process has not asked it yet, or a job ran there; or the Machine is deleted, and not
/// in its drain, which may last.
fn is_member_in_doubt(observed: &Observed) -> bool {
    let conditions = observed.machine.status.as_ref();
    let conditions = conditions.map(|status| &*status.conditions);
    let is_drained = conditions.is_some_and(|all| is_true(all, ConditionType::Draining));
    let leaves = observed.is_deleting() && !is_drained;
    membership::is_asked(observed) && (leaves || observed.last_look != LastLook::Idle)
}
