//! A Node that has the name of a Machine's own Node to come, and is another's.

use super::super::observed::{Namesake, Observed};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::machine_uid;
use crate::node::{Marker, Observation};
use crate::proof::{Evidence, Proof};
use crate::remedy;

/// Deletes a Node of the same name if its Machine does not exist and this host was reset for that
/// Machine: it runs nowhere. Any other Node stays and blocks the join: a Node that is not Ready may
/// still run.
pub(super) fn displace(observed: &Observed, seen: &Observation, namesake: &Namesake) -> Plan {
    let (name, id) = (&namesake.node.name, &namesake.node.provider_id);
    let is_silent = namesake.node.ready != Some(true) && namesake.marked.is_none();
    if namesake.is_left_over && is_silent && was_reset_here(observed, seen, namesake) {
        let action = Action::DeleteLeftNode {
            node: name.clone(),
            uid: namesake.node.uid.clone(),
        };
        let message = format!("deleting Node {name} of a Machine that does not exist any more");
        return Plan::act(
            action,
            Finding::no(
                ConditionType::BootstrapReady,
                Reason::DeletingOldNode,
                message,
            ),
        );
    }
    let lives = match (&namesake.marked, namesake.node.ready) {
        (Some(host), _) => format!(", and the marker on Host {host} names its Machine"),
        (None, Some(true)) => ", and is Ready".to_owned(),
        _ => String::new(),
    };
    let marker = &observed.marker;
    let delete = remedy::workload::delete_node(&marker.namespace, &marker.cluster, name);
    let rest = if observed.machine.is_owned() {
        "register this server as a Host of another name, which its Node gets"
    } else {
        "create a new Machine with another spec.metadata.name"
    };
    Plan::waiting(Finding::no(
        ConditionType::BootstrapReady,
        Reason::NodeNameTaken,
        format!(
            "the cluster already has a Node {name} (providerID {}{lives}), and nothing proves that its server is off. If the server is off, delete that Node: {delete}; otherwise {rest}",
            id.as_deref().unwrap_or("not set"),
        ),
    ))
}

/// The record of the reset is on this host, and is of the Machine whose Node that is.
fn was_reset_here(observed: &Observed, seen: &Observation, namesake: &Namesake) -> bool {
    let id = namesake.node.provider_id.as_deref();
    let Some(uid) = id.and_then(machine_uid) else {
        return false;
    };
    let left = Marker {
        uid: uid.to_owned(),
        ..observed.marker.clone()
    };
    Proof::of_host(&left, true, seen).is_ok_and(|proof| proof.evidence() == Evidence::Reset)
}
