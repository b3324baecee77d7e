//! What is done next for a MachineSet, and why. Pure.
//!
//! Machines that are being deleted do not count: one deletion that is stuck never blocks its
//! replacement. What this process made counts before it is listed, so a plan made twice makes
//! nothing twice.

mod conditions;
mod counts;
mod create;
mod delete_order;
mod hand_over;
mod in_place;

use k8s_openapi::jiff::Timestamp;
use kube::core::{Selector, SelectorExt};

use super::observed::{Observed, ObservedMachine, Owner};
use crate::api::conditions::Finding;
use crate::api::names::{ANNOTATION_DISABLE_CREATE, LABEL_CLUSTER};
use crate::{Next, Reports};

pub use counts::Counts;
pub use counts::after;
pub use create::{controller_reference, desired_machine};
pub use hand_over::{adopted, may_move, moved};
pub use in_place::InPlace;

/// What is done next for a MachineSet, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// What is true of the set: its conditions.
    pub findings: Vec<Finding>,
    /// The counters of its status.
    pub counts: Counts,
    /// The selector in its string form, for the scale subresource.
    pub label_selector: Option<String>,
    /// When the counters change although nothing else does, or what was done has to be looked for.
    pub wake_at: Option<Timestamp>,
    /// One of its Machines says what a person should look at.
    #[serde(skip)]
    pub warns: bool,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Action {
    /// Make the set the controlling owner of a Machine that has none.
    Adopt {
        /// Name of the Machine.
        name: String,
        /// UID that the Machine must still have.
        uid: String,
    },
    /// Set metadata, taints and time limits of a Machine according to the template.
    UpdateInPlace {
        /// Name of the Machine.
        name: String,
        /// UID that the Machine must still have.
        uid: String,
        /// What to write.
        changes: InPlace,
    },
    /// Delete a Machine. The choice rests on the set's list of Machines, so it is made again over
    /// a live list before it is carried out: a stale one could name a second victim.
    Delete {
        /// Name of the Machine.
        name: String,
        /// UID that the Machine must still have.
        uid: String,
        /// Why, and why this one.
        because: String,
    },
    /// Make another set the owner of a Machine, with its labels, versions and software, in one
    /// write. Chosen as for a deletion.
    Move {
        /// Name of the Machine.
        name: String,
        /// UID that the Machine must still have.
        uid: String,
        /// UID of the other set.
        to: String,
        /// Why, and why this one.
        because: String,
    },
    /// Create the Machine that [`desired_machine`] gives for this name.
    Create {
        /// Name of the Machine: the set's, and random letters.
        name: String,
        /// Why.
        because: String,
    },
}

/// A MachineDeployment takes a status of the present generation for all that the set did, and takes
/// its next step by it: what is found is reported when all is done.
impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, now: Timestamp) -> Next {
        Next::at(self.wake_at, now)
    }

    fn reports(&self) -> Reports {
        Reports::Last
    }
}

impl Plan {
    /// Whether it must be made again over the set and its Machines as they are at this moment.
    /// Which Machines are deleted or taken in depends on how many the set shall have, and on
    /// whether it stays; and what another process made for it before this one led need not be
    /// known, nor what was asked of it since, unless it `knows`.
    pub fn needs_look(&self, knows: bool) -> bool {
        self.actions.iter().any(|action| match action {
            Action::Adopt { .. } | Action::Delete { .. } | Action::Move { .. } => true,
            Action::Create { .. } => !knows,
            Action::UpdateInPlace { .. } => false,
        })
    }
}

/// What is done next for a MachineSet, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let selector = match selector(observed) {
        Ok(selector) => selector,
        Err(problem) => {
            return Plan {
                findings: conditions::invalid(observed, &problem),
                ..Plan::default()
            };
        }
    };
    let mine = claimed(observed, &selector);
    let counts = counts::count(observed, &mine, now);
    let mut plan = Plan {
        counts,
        label_selector: Some(selector.to_string()),
        warns: mine.iter().any(|machine| machine.warns()),
        wake_at: counts::next_change(observed, &mine, now)
            .into_iter()
            .chain(observed.due)
            .min(),
        ..Plan::default()
    };
    if observed.paused_by.is_none() && !observed.deleting {
        plan.actions = adopt(&mine);
        plan.actions.extend(in_place::changes(observed, &mine));
        plan.actions.extend(scale(observed, &mine, now));
    }
    plan.findings = conditions::findings(observed, &plan, &mine);
    plan
}

/// An empty selector matches everything: it is refused rather than believed.
fn selector(observed: &Observed) -> Result<Selector, String> {
    let selector = Selector::try_from(observed.selector.clone()).map_err(|e| e.to_string())?;
    if selector.selects_all() {
        return Err("spec.selector is empty; set spec.selector.matchLabels".into());
    }
    Ok(selector)
}

/// The Machines that the set counts: its own, and those that it takes in.
fn claimed<'a>(observed: &'a Observed, selector: &Selector) -> Vec<&'a ObservedMachine> {
    let all = observed.machines.iter().map(AsRef::as_ref);
    let matching = all.filter(|machine: &&ObservedMachine| selector.matches(&machine.labels));
    matching
        .filter(|machine| match machine.owner {
            Owner::Ours => true,
            Owner::Orphan => observed.adopts(machine),
            Owner::Other => false,
        })
        .collect()
}

impl Observed {
    /// Whether a Machine without a controlling owner is adopted. Labels alone are not enough: a
    /// Machine of another cluster, or of the control plane, is not a replica of this template.
    fn adopts(&self, machine: &ObservedMachine) -> bool {
        let versions = self.template.spec.versions.as_ref();
        let control_plane = versions.and_then(|v| v.control_plane.as_deref());
        let cluster = self.labels.get(LABEL_CLUSTER);
        machine.deleting.is_none()
            && !machine.unreadable
            && !self.deleting
            && machine.control_plane == control_plane.is_some_and(|v| !v.is_empty())
            && cluster.is_none_or(|name| machine.labels.get(LABEL_CLUSTER) == Some(name))
    }

    /// Whether the set's annotation keeps it from making Machines.
    fn creation_disabled(&self) -> bool {
        let value = self.annotations.get(ANNOTATION_DISABLE_CREATE);
        value.is_some_and(|value| value != "false")
    }
}

fn adopt(mine: &[&ObservedMachine]) -> Vec<Action> {
    let orphans = mine.iter().filter(|machine| machine.owner == Owner::Orphan);
    orphans
        .map(|machine| Action::Adopt {
            name: machine.name.clone(),
            uid: machine.uid.clone(),
        })
        .collect()
}

fn scale(observed: &Observed, mine: &[&ObservedMachine], now: Timestamp) -> Vec<Action> {
    let live: Vec<_> = mine
        .iter()
        .copied()
        .filter(|m| m.deleting.is_none())
        .collect();
    let wanted = usize::try_from(observed.replicas).unwrap_or_default();
    let have = live.len();
    if have > wanted {
        return delete_order::delete(observed, &live, have - wanted, now);
    }
    if observed.gate.is_some() || observed.creation_disabled() {
        return Vec::new();
    }
    create::create(observed, have, wanted)
}

#[cfg(test)]
mod tests;
