//! A control plane leaves: another one holds the virtual IP, then its etcd member is removed
//! through the others, before its machine is released.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::address::{self, Giving};
use super::membership::{self, Leaving};
use super::turn::has_turn;
use super::{Action, Plan, Request, ask, drain, turn_end, update};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Severity, Status};

/// Returns the turn of what was under way when it was deleted, before a drain or a hook that may
/// last: it may end by what needs that turn, such as a Node that joins. `also_to_leave`: the turn
/// to leave as well.
fn give_back(observed: &Observed, plan: &mut Plan, also_to_leave: bool) {
    let cluster = observed.cluster.as_ref();
    let leaves = cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Remove));
    if (also_to_leave || !leaves) && !update::may_have_stopped(observed) {
        let over = turn_end::unused_to_leave(observed).map(Action::ReturnTurn);
        plan.actions.splice(0..0, over);
    }
}

fn drains(action: &Action) -> bool {
    matches!(action, Action::Drain { .. } | Action::AwaitVolumes { .. })
}

/// It asks for the turn once it is drained. Its drain is not begun again while it asks.
fn asks(observed: &Observed, mut plan: Plan) -> Plan {
    let request = Request::new(TurnAction::Remove);
    let is_drained = drain::is_drained(observed) || !plan.actions.iter().any(drains);
    let stands = ask::stands(observed, TurnAction::Remove) && is_drained;
    if !plan.actions.is_empty() && !stands {
        give_back(observed, &mut plan, false);
        plan.asks_then = Some(request);
        return plan;
    }
    let asks = ask::plan(observed, request);
    plan.actions.clear();
    let is_told = |found: &Finding| {
        found.condition == ConditionType::Draining && found.status == Status::True
    };
    plan.findings.retain(|found| !is_told(found));
    // such as a released host that does not answer
    let waits = |found: &Finding| {
        found.condition == ConditionType::Deleting && found.reason().severity() != Severity::Warning
    };
    if let Some(at) = plan.findings.iter().position(waits) {
        plan.findings.splice(at..=at, asks.findings);
    }
    plan.asks = asks.asks;
    plan.next = plan.next.sooner(asks.next);
    plan
}

/// Puts the request for the turn, then what precedes the removal of its member, and that removal in
/// the place of what would end the Machine; that follows in the pass which no longer sees the
/// member. Afterwards the turn is returned. A plan that waits is left alone, unless `always`; an
/// address that was given away is taken back meanwhile.
pub(super) fn first(observed: &Observed, mut plan: Plan, always: bool, now: Timestamp) -> Plan {
    let ends = |action: &Action| !drains(action) && !matches!(action, Action::AwaitHooks(_));
    match membership::of(observed) {
        Leaving::Member(member) if always || plan.actions.iter().any(ends) => {
            plan.actions.retain(|action| !ends(action));
            let cluster = observed.cluster.as_ref();
            if !cluster.is_some_and(|cluster| has_turn(observed, cluster, TurnAction::Remove)) {
                return asks(observed, plan);
            }
            // it was done before it asked
            if drain::is_drained(observed) {
                plan.actions.retain(|action| !drains(action));
            }
            match address::give_away(observed, now) {
                Giving::Over(said) => {
                    plan.actions.push(Action::RemoveMember(member.clone()));
                    address::say(&mut plan, said);
                }
                Giving::Next(step) => {
                    plan.actions.extend(step.actions);
                    address::say(&mut plan, step.findings);
                    plan.next = plan.next.sooner(step.next);
                }
            }
        }
        Leaving::Member(_) => {
            let before = plan.actions.len();
            address::take_back(observed, &mut plan, now);
            let has_address = plan.actions.len() == before && observed.follow.is_none();
            give_back(observed, &mut plan, has_address);
        }
        Leaving::Removed => {
            // before a drain of pods that came since
            let over = turn_end::removed(observed).map(Action::ReturnTurn);
            plan.actions.splice(0..0, over);
        }
        Leaving::Nothing | Leaving::Waits(_) => (),
    }
    plan
}
