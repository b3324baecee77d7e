//! What is done next for a MachineDeployment, and why. Pure.
//!
//! One step at a time: the next one is decided when every set has answered to its last change.
//! Until then its counters are of before: it may have made Machines that they do not show, and
//! deleted some that they do.
//!
//! | file | what it decides |
//! |---|---|
//! | `limits` | what `maxSurge` and `maxUnavailable` allow |
//! | `roll` | the sets, which of them is the current one, and how many Machines each shall have |
//! | `rolling_update`, `control_plane`, `on_delete`, `in_place` | the next step of a roll |
//! | `hand_over` | how a Machine of one set becomes one of another |
//! | `scale` | scaling without rolling, and old sets' share of a scale-up in mid-roll |
//! | `adopt` | control-plane Machines that are taken in first |
//! | `breaker` | the step that ends a deadlock |
//! | `revision` | revision numbers, and which old sets are forgotten |
//! | `sets` | what is written on each set |
//! | `conditions`, `phase` | what people read |

mod adopt;
mod breaker;
mod conditions;
mod control_plane;
mod hand_over;
mod in_place;
mod limits;
mod on_delete;
mod phase;
mod revision;
mod roll;
mod rolling_update;
mod scale;
mod sets;

use crate::Why;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::jiff::Timestamp;
use kube::core::Selector;
use serde::Serialize;

use super::observed::{Observed, ObservedSet, has_control_plane};
use crate::Next;
use crate::api::MachineTemplate;
use crate::api::conditions::{Finding, Reason};
use crate::api::machine_deployment::StrategyType;
use crate::machine_set::plan::after;

pub use limits::Limits;
pub use phase::Phase;
pub use sets::{controller_reference, desired_set};

/// What is done next for a MachineDeployment, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in this order: any prefix of it leaves a state that the next pass goes on from.
    pub actions: Vec<Action>,
    /// What is true of the deployment: its conditions.
    pub findings: Vec<Finding>,
    /// The counters of its status.
    pub counts: StatusCounts,
    /// The summary for people.
    pub phase: Phase,
    /// The selector in its string form, for the scale subresource.
    pub label_selector: Option<String>,
    /// When the deadline for progress passes.
    pub wake_at: Option<Timestamp>,
    /// Since when there is something to do; None while there is not.
    pub work_since: Option<Timestamp>,
    /// One of its Machines says what a person should look at.
    #[serde(skip)]
    pub warns: bool,
}

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
}

impl Plan {
    /// Whether all that is done is to have the only set that has Machines create more workers.
    pub fn only_grows(&self, observed: &Observed) -> bool {
        let grows = |update: &SetUpdate| {
            let more = update.replicas.is_some_and(|(from, to)| from < to);
            let mut others = observed.sets.iter().filter(|set| set.uid != update.uid);
            more && update.template.is_none()
                && update.min_ready_seconds.is_none()
                && !others.any(ObservedSet::is_active)
                && !observed.is_control_plane()
        };
        matches!(self.actions.as_slice(), [Action::UpdateSet(update)] if grows(update))
    }
}

/// The counters of a deployment's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatusCounts {
    /// Machines of all sets.
    pub replicas: i32,
    /// Machines of the current template.
    pub updated: i32,
    /// Machines whose Node is Ready.
    pub ready: i32,
    /// Machines that have been Ready for `minReadySeconds`.
    pub available: i32,
    /// Machines that are wanted and not available.
    pub unavailable: i32,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Make the deployment the controller of a set that an earlier deployment of its name made.
    AdoptSet {
        /// Name of the set.
        name: String,
        /// UID that the set must still have.
        uid: String,
    },
    /// Make a set the controller of a Machine that has none, with the set's labels, in one write.
    AdoptMachine {
        /// Name of the Machine.
        name: String,
        /// UID that the Machine must still have.
        uid: String,
        /// Name of the set.
        set: String,
        /// UID of the set.
        set_uid: String,
    },
    /// Create the set that [`desired_set`] gives.
    CreateSet(Box<NewSet>),
    /// Write on a set, in one request.
    UpdateSet(Box<SetUpdate>),
    /// Delete a set that has no Machines and that nobody will go back to.
    DeleteSet {
        /// Name of the set.
        name: String,
        /// UID that the set must still have.
        uid: String,
        /// Why.
        because: String,
    },
}

/// A set to be made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewSet {
    /// Its name.
    pub name: String,
    /// Its first number of Machines.
    pub replicas: i32,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Which Machines belong to it.
    pub selector: LabelSelector,
    /// What it makes Machines from, with the provider spec inline.
    pub template: MachineTemplate,
    /// Its `minReadySeconds`.
    pub min_ready_seconds: i32,
    /// Why it is made, and with so many Machines.
    pub because: Vec<String>,
}

/// What to write on a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SetUpdate {
    /// Name of the set.
    pub name: String,
    /// UID that the set must still have.
    pub uid: String,
    /// The number of Machines, before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<(i32, i32)>,
    /// Annotations to set, or to remove.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Option<String>>,
    /// Labels to set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The whole new `spec.template`: it differs in parts that need no new Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Box<MachineTemplate>>,
    /// The new `spec.minReadySeconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Why the number changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
}

/// Seconds after which a set should have counted its Machines.
const LOOK_AGAIN: i64 = 2;

/// What is done next for a MachineDeployment, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let selector = Selector::try_from(observed.selector.clone());
    let label_selector = selector.ok().map(|selector| selector.to_string());
    let is_control_plane = observed.is_control_plane();
    let limits = match Limits::of(&observed.strategy, observed.wanted()) {
        Ok(limits) if is_control_plane => limits.of_control_plane(),
        Ok(limits) => limits,
        Err(problem) => return without_limits(observed, &problem, label_selector),
    };
    let roll = roll::Roll::new(observed, limits, now);
    let other_role = observed.of_other_role().filter(|_| !observed.deleting);
    let stopped = observed.deleting
        || observed.paused_by.is_some()
        || roll.lagging().is_some()
        || other_role.is_some();
    let adoption = if stopped {
        adopt::Adoption::default()
    } else {
        adopt::plan(&roll)
    };
    // workers are made beside a control plane that happens to match
    let waits = has_control_plane(&observed.template)
        && adoption.refused.is_some()
        && !roll.sets().any(ObservedSet::has_machines);
    // a set that expects a Machine would create one in its place
    let orphan = observed.orphans.first().filter(|_| !roll.free);
    let half_made = orphan.filter(|_| roll.sets().any(ObservedSet::expects));
    let adopts = !adoption.actions.is_empty() || waits;
    let stopped = stopped || adopts || half_made.is_some();
    let mut targets = if stopped {
        roll::Targets::unchanged(&roll)
    } else {
        strategy_targets(observed, &roll)
    };
    let mut plan = Plan {
        label_selector,
        actions: adoption.actions,
        warns: roll.sets().any(|set| set.warns),
        ..Plan::default()
    };
    if let Some(set) = other_role {
        targets.refused = Some(role_changed(set));
    }
    let waiting = half_made.map(|orphan| format!("Machine {} is to be adopted", orphan.name));
    targets.waiting.extend(waiting);
    match adoption.refused {
        Some(refused) if waits => targets.refused = Some(Why::new(Reason::NotAdopted, refused)),
        refused => targets.waiting.extend(refused),
    }
    if !stopped {
        hand_over::keep_surplus(&roll, &mut targets);
        plan.actions = sets::actions(&roll, &targets);
    }
    conditions::report(&roll, &targets, &mut plan);
    if is_control_plane && roll.sets().any(ObservedSet::is_behind) {
        // its set may have counted before the watch showed it
        let soon = after(now, LOOK_AGAIN);
        plan.wake_at = Some(plan.wake_at.map_or(soon, |at| at.min(soon)));
    }
    plan
}

/// Nothing changes while the limits of its strategy cannot be used.
fn without_limits(observed: &Observed, problem: &str, label_selector: Option<String>) -> Plan {
    let (phase, findings) = conditions::invalid(observed, problem);
    Plan {
        findings,
        phase,
        label_selector,
        ..Plan::default()
    }
}

/// How many Machines each set has next, by the strategy.
fn strategy_targets(observed: &Observed, roll: &roll::Roll<'_>) -> roll::Targets {
    if roll.only_scales() || roll.wanted.is_none() {
        return scale::targets(roll);
    }
    match observed.strategy.type_ {
        StrategyType::RollingUpdate if observed.is_control_plane() => control_plane::targets(roll),
        StrategyType::RollingUpdate => rolling_update::targets(roll),
        StrategyType::OnDelete => on_delete::targets(roll),
        StrategyType::InPlace => in_place::targets(roll),
    }
}

/// Why a template of the other role than this set's Machines is not rolled out.
fn role_changed(set: &ObservedSet) -> Why {
    let refused = format!(
        "spec.template.spec.versions.controlPlane was added or removed: Machines of MachineSet {} have another role, and a control plane becomes no worker, nor the reverse. Set it back, and create another MachineDeployment",
        set.name
    );
    Why::new(Reason::InvalidConfiguration, refused)
}

#[cfg(test)]
mod tests;
