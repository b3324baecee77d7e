//! Which Node is that of a Machine, among those that have its provider ID. Pure.
//!
//! A kubelet says by itself which provider ID it has, so whoever is root on a host can name another
//! Machine's. A Node is believed that the Machine has recorded, or that comes alone and under the
//! name that the Machine gave to its kubelet. Whoever may write `status.nodeRef` chooses among
//! those that have the provider ID, and no others; a Machine that lost its status, as after a
//! restored backup, finds its Node by the name.

use std::sync::Arc;

use super::observed::{Infrastructure, Lookup, Observed, Placement};
use super::units::node_name;
use crate::NodeView;
use crate::api::Machine;
use crate::api::conditions::Reason;
use crate::remedy;

/// The Node of a Machine, and those that have its provider ID beside it.
#[derive(Debug, PartialEq)]
pub struct OwnNode {
    /// Its Node.
    pub node: Option<Arc<NodeView>>,
    /// Nodes for which nothing is done.
    pub others: Vec<Arc<NodeView>>,
}

/// Sorts the Nodes that have the provider ID of a Machine: the recorded one is its own while it
/// exists; otherwise a lone one may be, and of several none is.
pub fn choose(machine: &Machine, mut claimants: Vec<Arc<NodeView>>) -> OwnNode {
    let status = machine.status.as_ref();
    let recorded = status.and_then(|status| status.node_ref.as_ref());
    let own = recorded.and_then(|recorded| {
        claimants.iter().position(|node| {
            Some(&node.name) == recorded.name.as_ref() && Some(&node.uid) == recorded.uid.as_ref()
        })
    });
    let own = own.or_else(|| (claimants.len() == 1).then_some(0));
    let node = own.map(|index| claimants.remove(index));
    OwnNode {
        node,
        others: claimants,
    }
}

/// Takes away a Node that is not recorded and has another name than the kubelet of the Machine was
/// given.
pub fn check_name(observed: &mut Observed) {
    let (Lookup::Known(Some(node)), Placement::Held(held)) = (&observed.node, &observed.placement)
    else {
        return;
    };
    if observed.is_in_memory() || is_expected(observed, held, node) {
        return;
    }
    observed.contested.push(Arc::clone(node));
    // it is no longer its own when that is told
    observed.node = Lookup::Known(None);
    observed.node = Lookup::Unknown(contested(observed));
}

fn is_expected(observed: &Observed, held: &Infrastructure, node: &NodeView) -> bool {
    let status = observed.machine.status.as_ref();
    let recorded = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
    // a kubelet registers in lower case
    let is = |name: &str| name.eq_ignore_ascii_case(&node.name);
    is(node_name(observed, held)) || recorded.is_some_and(is)
}

/// What is told of the Nodes for which nothing is done; empty without any. The Machine may have one
/// of them: of two, the certificate of its kubelet tells which, and the command never names the
/// Node that is expected.
pub fn contested(observed: &Observed) -> String {
    let names: Vec<_> = observed.contested.iter().map(|n| n.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let (nodes, have) = if names.len() > 1 {
        ("Nodes", "have")
    } else {
        ("Node", "has")
    };
    let (place, expected) = match &observed.placement {
        Placement::Held(held) if observed.virtual_machine.is_some() => (
            format!("virtual machine {}", held.name),
            Some(node_name(observed, held)),
        ),
        Placement::Held(held) => (
            format!("Host {}", held.name),
            Some(node_name(observed, held)),
        ),
        Placement::None(_) => ("its machine".to_owned(), None),
    };
    let own = match (&observed.node, expected) {
        (Lookup::Known(Some(node)), _) => format!("besides its own Node {}", node.name),
        (_, Some(name)) => format!("and none is recorded as its own; expected is {name}"),
        (_, None) => "and none is recorded as its own".to_owned(),
    };
    // of one whose own name is not known, any may be its own
    let is_other = |name: &&&str| expected.is_some_and(|own| !own.eq_ignore_ascii_case(name));
    let other = names.iter().find(is_other).map_or("NAME", |name| name);
    let marker = &observed.marker;
    let delete = remedy::workload::delete_node(&marker.namespace, &marker.cluster, other);
    format!(
        "{nodes} {} {have} the provider ID of this Machine, {own}. Nothing is written to, drained or deleted for it. A kubelet sets provider ID and addresses of its Node itself, and only its certificate names its Node: on {place}, openssl x509 -noout -subject -in /var/lib/kubelet/pki/kubelet-client-current.pem. Delete only a Node that is not named there: {delete}",
        names.join(", ")
    )
}

/// The reason of what waits for a Node that is unknown.
pub fn unknown(observed: &Observed, otherwise: Reason) -> Reason {
    if observed.contested.is_empty() {
        otherwise
    } else {
        Reason::ProviderIDContested
    }
}

#[cfg(test)]
#[path = "own_node_tests.rs"]
mod tests;
