//! What is done next for a Machine, and why. Pure.

mod action;
pub mod addons;
pub mod address;
pub mod ask;
mod awaited;
pub mod claim;
pub mod correct;
pub mod dead;
pub(super) mod deletion;
pub mod doubt;
pub mod drain;
mod end;
pub mod failure_domain_spread;
mod foreign_member;
mod gates;
mod guard;
pub mod health;
mod hooks;
mod hypervisor;
mod job;
mod leaving;
mod lost_claim;
pub mod marks;
pub mod membership;
mod namesake;
mod pace;
pub mod placement;
pub mod recorded;
mod release;
mod requirements;
mod retained;
pub use action::{Acquire, Action, Power, Release};
pub use ask::Request;
pub use dead::unanswered;
pub use release::time_limit;
pub mod skew;
mod stage;
pub mod stuck;
mod summary;
pub mod turn;
mod turn_end;
mod up_to_date;
pub mod update;
pub use lost_claim::host_is_gone;
mod virtual_machine;

use k8s_openapi::jiff::Timestamp;

use super::member::LastLook;
use super::observed::Observed;
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::machine_stage::{ChangeStep, StageName};
use crate::pace::{FOUND, SERVER};

pub use summary::{Phase, terminal};

/// What is done next for a Machine, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order. The next pass sees the result.
    pub actions: Vec<Action>,
    /// What is true of the Machine: its conditions.
    pub findings: Vec<Finding>,
    /// The phase, a summary.
    pub phase: Phase,
    /// The stage that it is in; `None` where something else comes first, or its host would have to
    /// show it.
    pub stage: Option<StageName>,
    /// The step of an update that it is at, or waits for.
    pub change: Option<ChangeStep>,
    /// What it asks the turn of its control plane for.
    pub asks: Option<Request>,
    /// The same, once all of its actions were done.
    pub asks_then: Option<Request>,
    /// When to look again, beside on every change.
    pub next: Next,
    /// When its stage, or its update, would be stuck.
    pub late: Next,
    /// Nothing is reported or done, because the state of the Machine was not read yet since the
    /// manager started.
    pub hands_off: bool,
}

/// What is done next for a Machine, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = guard::first(observed).unwrap_or_else(|| stage::plan(observed, now));
    if !plan.hands_off {
        drain::suspended(observed, &mut plan);
        plan.findings.extend(health::components(observed));
        if observed.last_look == LastLook::Silent {
            // its Node may be well, so that nothing is said of it
            plan.next = plan.next.sooner(Next::After(SERVER));
        }
        awaited::await_missing(observed, &mut plan, now);
        stuck::report(observed, &mut plan, now);
        plan.next = plan.next.sooner(pace::of(observed, &plan));
        summary::summarise(observed, &mut plan);
    }
    plan
}

/// Facts and plan once one was carried out whose end is told at once: an update is over, if nothing
/// is left to do then, or it asks for the turn. `change` completes the facts.
pub fn after(
    observed: &Observed,
    carried: &Plan,
    change: impl FnOnce(&mut Observed),
    now: Timestamp,
) -> Option<(Observed, Plan)> {
    if let Some(mut after) = update::ended(observed, carried) {
        change(&mut after);
        let ended = plan(&after, now);
        return ended.actions.is_empty().then_some((after, ended));
    }
    Some((observed.clone(), ask::after(observed, carried)?))
}

impl Plan {
    /// Nothing to do until something changes; the finding says what.
    fn waiting(finding: Finding) -> Self {
        Self {
            findings: vec![finding],
            ..Self::default()
        }
    }

    /// Adds a finding that was made while acting; returns whether there was one.
    pub fn learn(&mut self, observed: &Observed, found: Option<Finding>) -> bool {
        let Some(found) = found else {
            return false;
        };
        // a wait that was found is why it lasts
        let is_wait = awaited::is_wait(observed, &found);
        self.findings.retain(|old| {
            let is_over = old.condition == ConditionType::Progressing && is_wait;
            !is_over && old.condition != ConditionType::Ready && old.condition != found.condition
        });
        drain::learned(self, &found);
        self.findings.push(found);
        self.findings
            .retain(|finding| finding.condition != ConditionType::Paused);
        if self.next == Next::OnChange {
            self.next = Next::After(FOUND);
        }
        summary::summarise(observed, self);
        true
    }

    /// One action, and the finding that says why.
    fn act(action: Action, finding: Finding) -> Self {
        Self {
            actions: vec![action],
            findings: vec![finding],
            ..Self::default()
        }
    }

    /// Nothing is done with the Machine, whether it is being deleted or not.
    fn stopped(observed: &Observed, reason: Reason, message: String) -> Self {
        Self::waiting(if observed.is_deleting() {
            Finding::yes(ConditionType::Deleting, reason, message)
        } else {
            Finding::no(ConditionType::InfrastructureReady, reason, message)
        })
    }
}

#[cfg(test)]
mod tests;
