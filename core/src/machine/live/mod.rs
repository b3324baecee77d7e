//! What an effect requires of what was read live just before it: from those facts to "go on", or
//! why not.
//!
//! A plan is made from caches, which may be old. What cannot be undone, and what only one Machine
//! may do at a time, is decided here a second time. The controllers read the facts and perform;
//! they decide nothing.

pub mod claim;
pub mod end;
pub mod etcd;
pub mod init_evidence;
pub mod keys;
pub mod node;
pub mod record;
pub mod settings;
pub mod turn;
pub mod vacant;
pub mod virtual_machine;

use super::observed::Observed;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::node::JobKind;

/// What is read live before a job starts on the host of a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    None,
    /// The turn of `kubeadm init`, and the evidence that another Machine has run it.
    Init,
    /// The turn, etcd, and kubeadm's record: a control plane joins.
    Join,
    /// kubeadm's record alone: a worker joins, or is prepared for that.
    Record,
    /// The turn and etcd: a control plane is updated.
    Update,
}

/// What is read before a job of this kind.
pub fn check(observed: &Observed, kind: JobKind) -> Check {
    let owner = observed.owner();
    // if the marker records that this job's kubeadm succeeded, only the later steps of the job run
    // again; what joined was not initialised
    let is_initialized = owner.is_some_and(|owner| owner.initialized);
    let is_node = is_initialized || owner.is_some_and(|owner| owner.joined);
    let is_control_plane = observed.acts_as_control_plane();
    match kind {
        JobKind::Init if !is_initialized => Check::Init,
        JobKind::Join if !is_node && is_control_plane => Check::Join,
        JobKind::Join | JobKind::Prepare if !is_node && !is_control_plane => Check::Record,
        JobKind::Upgrade | JobKind::Kubelet if is_control_plane => Check::Update,
        _ => Check::None,
    }
}

/// Whether the settings that the node is created with are recorded before a job starts: until
/// kubeadm has run.
pub fn records_settings(observed: &Observed) -> bool {
    let owner = observed.owner();
    !owner.is_some_and(|owner| owner.initialized || owner.joined)
}

/// What stands in the way of a job of a Node that runs, as a finding of that job: the Node is as
/// well as it was.
pub fn about(kind: JobKind, mut finding: Finding) -> Finding {
    match kind.condition() {
        ConditionType::BootstrapReady => return finding,
        ConditionType::Updating => finding.status = Status::True,
        _ => finding.status = Status::False,
    }
    finding.condition = kind.condition();
    finding
}

/// Why a Machine waits, in the condition of what it does: its deletion, or its bootstrap.
fn waits(observed: &Observed, reason: Reason, message: impl Into<String>) -> Finding {
    if observed.is_deleting() {
        Finding::yes(ConditionType::Deleting, reason, message)
    } else {
        Finding::no(ConditionType::BootstrapReady, reason, message)
    }
}
