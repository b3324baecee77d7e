//! A Node whose kubelet does not answer: what ends its pods.

use super::super::observed::{Contact, Observed, Placement};
use super::drain::without_draining;
use crate::NodeView;
use crate::api::conditions::Reason;

/// Whether its release ends the pods of a Node whose kubelet does not answer: the machine does not
/// answer either, and is then switched off by its BMC, or deleted at its gateway. Only that proves
/// an end, and only then the Node is deleted, with its pods.
pub fn is_ended_by_release(observed: &Observed, node: &NodeView, has_bmc: bool) -> bool {
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let said = held.why.as_ref().map(|(reason, _)| reason.as_str());
    let silent = [
        Reason::SshUnreachable,
        Reason::SshDisconnected,
        Reason::HostHangs,
    ];
    let is_silent = silent.iter().any(|reason| said == Some(reason.as_str()))
        || matches!(&held.contact, Contact::Unreachable { reason, .. } if silent.contains(reason));
    observed.is_deleting()
        && node.is_unreachable()
        && is_silent
        && (has_bmc || observed.virtual_machine.is_some())
}

/// The remedy for a drain, or a wait for volumes, on a Node whose kubelet does not answer and so
/// ends no pods.
pub fn unanswered(observed: &Observed, node: &str) -> String {
    format!(
        ". Node {node} does not answer, and nothing proves that its pods have ended, so this may never end. To release the host without evicting or detaching (the Node is still deleted only on proof): {}",
        without_draining(observed)
    )
}
