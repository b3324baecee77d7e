//! How the Node of a Machine is, with what is known of its host.

use super::super::observed::{Observed, Placement};
use super::super::own_node;
use super::update;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::remedy;
use crate::{NodeView, Why};

/// Condition `NodeHealthy` of a Machine that has this Node.
pub(super) fn finding(observed: &Observed, node: &NodeView) -> Finding {
    with_others(observed, with_host(observed, of_node(node)))
}

/// How the components of its control plane are, of one that holds a machine.
pub(super) fn components(observed: &Observed) -> Vec<Finding> {
    let cluster = observed.cluster.as_ref();
    let known = cluster.and_then(|cluster| cluster.components.as_ref());
    let held = observed.held().filter(|held| !held.releasing);
    match (known, held) {
        (Some(known), Some(held)) => known.findings(&held.name).collect(),
        _ => Vec::new(),
    }
}

fn of_node(node: &NodeView) -> Finding {
    match node.ready {
        Some(true) => Finding::yes(
            ConditionType::NodeHealthy,
            Reason::NodeReady,
            format!("Node {} is Ready", node.name),
        ),
        Some(false) => Finding::no(
            ConditionType::NodeHealthy,
            Reason::NodeNotReady,
            format!("Node {}: {}", node.name, node.ready_message),
        ),
        None if node.ready_reason.is_empty() => Finding::unknown(
            ConditionType::NodeHealthy,
            Reason::NodeNotReady,
            format!("Node {}: its kubelet has not reported yet", node.name),
        ),
        None => Finding::unknown(
            ConditionType::NodeHealthy,
            Reason::NodeUnknown,
            format!("Node {}: {}", node.name, node.ready_message),
        ),
    }
}

/// Of a Node that is not Ready also what is wrong with its host: the kubelet cannot say that.
fn with_host(observed: &Observed, mut finding: Finding) -> Finding {
    if let Placement::Held(held) = &observed.placement
        && let Some((reason, said)) = held.why.as_ref().filter(|_| !held.releasing)
        && finding.status != Status::True
    {
        let node = finding.message();
        let node = node.trim_end_matches('.');
        let mut message = format!("{node}. Host {}: {said}", held.name);
        let is_silent = [Reason::SshUnreachable, Reason::SshDisconnected];
        // an update that was begun says it itself
        if is_silent.iter().any(|silent| reason == silent) && !update::is_begun(observed) {
            let lost = update::if_lost(observed);
            message.push_str(". Power it on. ");
            message.push_str(&lost);
        }
        finding.reword(message);
    }
    finding
}

/// Of a Node beside which others have the provider ID, also that: the Machine stays what its own
/// Node is.
fn with_others(observed: &Observed, mut finding: Finding) -> Finding {
    if observed.contested.is_empty() {
        return finding;
    }
    if finding.status == Status::True {
        finding.why = Why::new(Reason::ProviderIDContested, own_node::contested(observed));
    } else {
        let own = finding.message();
        let own = own.trim_end_matches('.');
        finding.reword(format!("{own}. {}", own_node::contested(observed)));
    }
    finding
}

/// Its Node existed, and does not exist any more.
pub fn gone(observed: &Observed) -> Finding {
    let status = observed.machine.status.as_ref();
    let node = status.and_then(|status| status.node_ref.as_ref());
    let node = node.and_then(|node| node.name.as_deref()).unwrap_or("NODE");
    let marker = &observed.marker;
    // a control plane is not made again
    let end = if observed.acts_as_control_plane() {
        String::new()
    } else {
        format!(
            ". If the host has no kubelet any more: {}",
            remedy::machine::delete(&marker.namespace, &marker.machine)
        )
    };
    let message = format!(
        "its Node {node} does not exist any more: it was deleted by hand, or this Machine was restored from a backup. A kubelet registers its Node only when it starts; on the host: systemctl restart kubelet{end}"
    );
    Finding::no(ConditionType::NodeHealthy, Reason::NodeGone, message)
}
