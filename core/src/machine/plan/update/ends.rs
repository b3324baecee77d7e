//! The end of an update in place: the machine's control plane serves, its Node takes pods, and
//! others have the turn.

use std::sync::Arc;

use super::super::super::observed::{Lookup, Observed};
use super::super::{Action, Phase, Plan, turn_end};
use super::{Step, follow, has_turn_to_upgrade, waiting};
use crate::api::conditions::Reason;
use crate::api::names::ANNOTATION_CORDONED;
use crate::control_plane::component::Components;

/// What was begun is ended: the Node takes pods again, and others have the turn.
pub(super) fn finish(observed: &Observed) -> Step {
    let Some(node) = observed.known_node() else {
        return Step::goes(waiting(Reason::WaitingForNode, "its Node cannot be read"));
    };
    if node.ready != Some(true) {
        let message = format!(
            "waiting until Node {} is Ready: {}",
            node.name, node.ready_message
        );
        return Step::goes(waiting(Reason::WaitingForNode, message));
    }
    let mut actions = Vec::new();
    if has_turn_to_upgrade(observed) {
        // what they answered before is not waited for: they are asked now, and that tells whether
        // the end is reached
        actions.push(Action::AwaitComponents);
    } else if let Some(why) = unwell(observed, components(observed)) {
        return Step::goes(waiting(Reason::WaitingForControlPlane, why));
    }
    actions.extend(uncordon(observed));
    if has_turn_to_upgrade(observed) {
        let Some(over) = turn_end::updated(observed) else {
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
        ..waiting(Reason::Updating, "ending the update")
    })
}

/// Whether a plan does nothing but end, or put down, what was begun: that is told once it was done.
pub fn ends(plan: &Plan) -> bool {
    let is_sign = |action: &Action| {
        matches!(
            action,
            Action::AwaitComponents | Action::UncordonNode { .. }
        )
    };
    let is_end = |action: &Action| is_sign(action) || matches!(action, Action::ReturnTurn(_));
    plan.phase == Phase::Updating
        && plan.actions.iter().any(is_sign)
        && plan.actions.iter().all(is_end)
}

/// The facts once such a plan was carried out: its Node takes pods, and others have the turn. So
/// the host is not asked once more before that is told, by which the next one begins.
pub fn ended(observed: &Observed, plan: &Plan) -> Option<Observed> {
    if !ends(plan) {
        return None;
    }
    let mut after = observed.clone();
    for action in &plan.actions {
        match (action, &mut after.node, &mut after.cluster) {
            (Action::UncordonNode { .. }, Lookup::Known(Some(node)), _) => {
                let node = Arc::make_mut(node);
                node.unschedulable = false;
                node.annotations.remove(ANNOTATION_CORDONED);
            }
            (Action::ReturnTurn(_), _, Some(cluster)) => {
                (cluster.turn, cluster.other_turn) = (None, None);
            }
            _ => (),
        }
    }
    Some(after)
}

/// What an update that may not go on gives back meanwhile: who is in its way may need its turn, or
/// its Node. Nothing while a job runs, or has left its member stopped.
pub(super) fn put_down(observed: &Observed, is_under_way: bool) -> Vec<Action> {
    if is_under_way || is_unwell(observed) {
        return Vec::new();
    }
    let over = turn_end::updated(observed);
    if over.is_none() && has_turn_to_upgrade(observed) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    if over.is_some() {
        actions.push(Action::AwaitComponents);
    }
    actions.extend(uncordon(observed));
    actions.extend(over.map(Action::ReturnTurn));
    actions
}

/// Whether the control plane on its machine cannot be counted on, as it answered last.
pub(super) fn is_unwell(observed: &Observed) -> bool {
    unwell(observed, components(observed)).is_some()
}

/// The components of the control plane on its machine, as they answered last.
fn components(observed: &Observed) -> Option<&Components> {
    let cluster = observed.cluster.as_ref()?;
    cluster.components.as_deref()
}

fn uncordon(observed: &Observed) -> Option<Action> {
    let node = observed
        .known_node()
        .filter(|node| node.is_cordoned_by_us())?;
    Some(Action::UncordonNode {
        node: node.name.clone(),
        uid: node.uid.clone(),
    })
}

/// Why the control plane on its machine cannot be counted on, by what its components answered last,
/// if they were asked. What lasts less than people are told of counts too: the next control plane
/// starts its own anew.
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
