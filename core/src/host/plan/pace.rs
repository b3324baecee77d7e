//! How soon a plan of a Host is made again because of what it waits for.

use super::super::observed::Observed;
use super::{Plan, State};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::pace::{Asked, STANDING};

/// By the reason for which the Host is free, or is not.
pub(super) fn of(observed: &Observed, plan: &Plan) -> Next {
    let mut findings = plan.findings.iter();
    let available = findings.find(|found| found.condition == ConditionType::Available);
    let by_reason = available
        .filter(|found| is_asked(observed, plan, found))
        .map_or(Next::OnChange, |found| {
            Asked::about(found.reason()).by_host()
        });
    let missed = if observed.is_missed {
        Next::After(STANDING)
    } else {
        Next::OnChange
    };
    by_reason.sooner(missed)
}

/// Not while a unit is followed, whose end wakes us; nor while an installation waits for the end of
/// maintenance; nor of a host that was switched off until it is claimed.
fn is_asked(observed: &Observed, plan: &Plan, available: &Finding) -> bool {
    let is_left = plan.state == State::Installing && available.reason() == Reason::Maintenance;
    let mut findings = plan.findings.iter();
    let rests = findings.any(|found| found.reason() == Reason::SwitchedOff);
    observed.following.is_none() && !is_left && !rests
}
