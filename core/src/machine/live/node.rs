//! What is done with the Node of a Machine, by what was read of it, of its pods and of other Nodes
//! just before.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::observed::Observed;
use crate::NodeView;
use crate::api::Machine;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::drain::DrainProgress;
use crate::machine::plan::{dead, drain, unanswered, update};
use crate::remedy;

/// What is known of the Node beside the reading that it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// As the watch shows it now; `None` if it shows none.
    pub view: Option<&'a NodeView>,
    /// The host of the Machine has a BMC.
    pub has_bmc: bool,
}

/// Whether something of a Node is waited for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait {
    /// No: there is nothing left.
    Over,
    /// No, although something is left: this is told.
    Ends(Finding),
    /// Yes.
    Lasts(Finding),
}

/// Whether the Machine is cordoned only while no other is drained that excludes it: for an update,
/// unless it is cordoned already. `node`: its own, as the watch shows it.
pub fn is_exclusive(observed: &Observed, node: Option<&NodeView>) -> bool {
    !observed.is_deleting() && !node.is_some_and(NodeView::is_cordoned_by_us)
}

/// Requires that another Machine, which is not drained together with this one, is not drained.
/// `node`: the Node of that one.
///
/// # Errors
/// It is.
pub fn may_cordon(
    observed: &Observed,
    other: &Machine,
    node: Option<&NodeView>,
) -> Result<(), Finding> {
    match node {
        Some(node) if node.is_cordoned_by_us() => {
            Err(update::drained_after(observed, &other.name_any()))
        }
        _ => Ok(()),
    }
}

/// Whether the drain of the Node goes on. `was_unreachable`: it was done as on a Node whose kubelet
/// does not answer.
pub fn drained(
    observed: &Observed,
    node: NodeFacts<'_>,
    progress: &DrainProgress,
    was_unreachable: bool,
) -> Wait {
    let ends = |message| {
        let condition = ConditionType::Draining;
        Wait::Ends(Finding::no(condition, Reason::PodsUnconfirmed, message))
    };
    if progress.is_done() {
        return progress.unconfirmed(node.name).map_or(Wait::Over, ends);
    }
    let ended = progress.ended_by_release(node.name);
    if let Some(message) = ended.filter(|_| is_ended_by_release(observed, node)) {
        return ends(message);
    }
    let reason = if progress.blocked.is_empty() {
        Reason::Draining
    } else {
        Reason::DrainBlocked
    };
    let mut message = progress.to_string();
    if was_unreachable {
        message.push_str(&unanswered(observed, node.name));
    }
    Wait::Lasts(Finding::yes(ConditionType::Draining, reason, message))
}

/// Whether the volumes that are `attached` to the Node are waited for.
pub fn detached(
    observed: &Observed,
    node: NodeFacts<'_>,
    attached: &[String],
    now: Timestamp,
) -> Wait {
    // those of a Node that is deleted are detached
    if attached.is_empty() || is_ended_by_release(observed, node) {
        return Wait::Over;
    }
    let (name, attached) = (node.name, attached.join(", "));
    if drain::volumes_have_timed_out(observed, now) {
        let message = format!(
            "nodeVolumeDetachTimeoutSeconds ended the wait; the machine is released with volumes attached to Node {name}: {attached}"
        );
        let condition = ConditionType::Draining;
        return Wait::Ends(Finding::no(
            condition,
            Reason::VolumeDetachTimedOut,
            message,
        ));
    }
    let marker = &observed.marker;
    let list = remedy::workload::volume_attachments(&marker.namespace, &marker.cluster);
    let mut message = format!(
        "still attached to Node {name}: {attached}. What holds them: {list}, and the log of the CSI attacher; spec.deletion.nodeVolumeDetachTimeoutSeconds limits the wait"
    );
    if node.view.is_some_and(NodeView::is_unreachable) {
        message.push_str(&unanswered(observed, name));
    }
    Wait::Lasts(Finding::yes(
        ConditionType::Deleting,
        Reason::WaitingForVolumes,
        message,
    ))
}

/// Whether the release of a machine that does not answer ends what runs there: nothing of its drain
/// is then waited for.
fn is_ended_by_release(observed: &Observed, node: NodeFacts<'_>) -> bool {
    let view = node.view;
    view.is_some_and(|view| dead::is_ended_by_release(observed, view, node.has_bmc))
}

/// Requires that the Node (`name`) of a Machine that does not exist is not Ready, before it is
/// deleted for a Machine that needs its name.
///
/// # Errors
/// It is Ready again.
pub fn may_delete_left(name: &str, node: Option<&NodeView>) -> Result<(), Finding> {
    if node.is_none_or(|node| node.ready != Some(true)) {
        return Ok(());
    }
    let message = format!("Node {name} is Ready again; it is left alone");
    let condition = ConditionType::BootstrapReady;
    Err(Finding::no(condition, Reason::NodeNameTaken, message))
}
