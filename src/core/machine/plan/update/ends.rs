//! The end of an update in place: the machine's control plane serves, its Node takes pods, and others have the turn.

use super::super::super::observed::Observed;
use super::super::bootstrap::ASK_AGAIN;
use super::super::{Action, Plan, known_node};
use super::{Step, follow, has_turn_to_upgrade, updating, waiting};
use crate::api::conditions::Reason;
use crate::core::Next;
use crate::core::control_plane::component::Components;
use crate::core::proof::TurnIsOver;

/// What was begun is ended: the Node takes pods again, and others have the turn.
pub(super) fn finish(observed: &Observed) -> Step {
    let Some(node) = known_node(observed) else {
        return Step::goes(waiting(Reason::WaitingForNode, "its Node cannot be read"));
    };
    if node.ready != Some(true) {
        let message = format!(
            "waiting until Node {} is Ready: {}",
            node.name, node.ready_message
        );
        return Step::goes(waiting(Reason::WaitingForNode, message));
    }
    let asked = observed
        .cluster
        .as_ref()
        .and_then(|c| c.components.as_deref());
    if let Some(why) = unwell(observed, asked) {
        return Step::goes(waiting(Reason::WaitingForControlPlane, why));
    }
    let mut actions = Vec::new();
    if has_turn_to_upgrade(observed) {
        actions.push(Action::AwaitComponents);
    }
    if node.is_cordoned_by_us() {
        actions.push(Action::UncordonNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    if has_turn_to_upgrade(observed) {
        let Some(over) = end_of_turn(observed) else {
            let message = "waiting until its etcd member is listed as one that votes";
            return Step::goes(waiting(Reason::MemberChanging, message));
        };
        actions.push(Action::ReturnTurn(over));
    }
    // the next one follows by this
    actions.extend(follow::end(observed));
    if actions.is_empty() {
        return Step::Over;
    }
    Step::goes(Plan {
        actions,
        next: Next::After(ASK_AGAIN),
        ..Plan::waiting(updating(Reason::Updating, "ending the update"))
    })
}

/// Its member votes: the turn of an upgrade has ended, if the rest is well.
pub fn end_of_turn(observed: &Observed) -> Option<TurnIsOver> {
    let over = || observed.member_votes();
    has_turn_to_upgrade(observed).then(over).flatten()
}

/// Why the control plane on its machine cannot be counted on, by what its components answered last, if they were asked. What
/// lasts less than people are told of counts too: the next control plane starts its own anew.
pub fn unwell(observed: &Observed, asked: Option<&Components>) -> Option<String> {
    if !observed.acts_as_control_plane() {
        return None;
    }
    let why = match asked {
        Some(components) => components.troubled(&observed.marker.machine)?,
        None => "its components have not been asked yet".to_owned(),
    };
    Some(format!(
        "waiting until the control plane on its machine serves: {why}"
    ))
}
