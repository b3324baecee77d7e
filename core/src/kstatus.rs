//! Completes the conditions of an object for programs that know none of our kinds: kstatus of
//! sigs.k8s.io/cli-utils, which Flux and kpt judge objects by.
//!
//! `Ready` exists as soon as anything is reported. While the desired state is not reached, one of
//! two conditions is added, and removed afterwards: `Reconciling` if it is reached without a
//! person, `Stalled` if a person has to act first.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::{ConditionType, Reason, Severity, find};

/// What was asked for may lack a part although the object is `Ready`: a Machine whose spec was
/// edited to what its Node cannot follow, a Host whose BMC cannot be used.
const PARTS: [ConditionType; 4] = [
    ConditionType::UpToDate,
    ConditionType::BMCReachable,
    ConditionType::Installed,
    ConditionType::MachinesKnown,
];

/// The conditions of an object with those that follow from them; `old` are those that it had.
#[must_use]
pub fn complete(
    mut conditions: Vec<Condition>,
    old: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let ours = [ConditionType::Reconciling, ConditionType::Stalled];
    conditions.retain(|condition| ours.iter().all(|type_| condition.type_ != *type_));
    if find(&conditions, ConditionType::Ready).is_none() {
        conditions.push(starting(generation, now));
    }
    let Some((type_, why)) = expected(&conditions) else {
        return conditions;
    };
    let since = find(old, type_).filter(|condition| condition.status == "True");
    let condition = Condition {
        type_: type_.as_str().into(),
        status: "True".into(),
        last_transition_time: since.map_or(Time(now), |was| was.last_transition_time.clone()),
        ..why.clone()
    };
    conditions.push(condition);
    conditions
}

/// Which of the two to add, and the condition that explains it; `None` if the desired state is
/// reached, or it is paused.
fn expected(conditions: &[Condition]) -> Option<(ConditionType, &Condition)> {
    // whoever paused it knows, and nothing comes of waiting; under spec.paused a MachineDeployment
    // is scaled all the same
    let paused = find(conditions, ConditionType::Paused).filter(|c| c.status == "True");
    if paused.is_some_and(|condition| condition.reason != Reason::PausedBySpec.as_str()) {
        return None;
    }
    let unmet = |type_| find(conditions, type_).filter(|condition| condition.status != "True");
    let ready = unmet(ConditionType::Ready);
    let needs_a_person =
        |condition: &&Condition| Reason::parse(&condition.reason).is_some_and(Reason::is_stalled);
    let is_under_way = |condition: &&Condition| {
        let reason = Reason::parse(&condition.reason);
        reason.is_some_and(|reason| reason.severity() == Severity::Normal)
    };
    let parts = PARTS.into_iter().filter_map(unmet);
    if let Some(why) = ready.into_iter().chain(parts).find(needs_a_person) {
        return Some((ConditionType::Stalled, why));
    }
    // passes that fail are repeated
    let repeated = find(conditions, ConditionType::Reconciled).filter(|c| c.status != "True");
    let updating = find(conditions, ConditionType::Updating);
    let why = repeated
        .or(ready)
        .or(updating)
        .or(unmet(ConditionType::UpToDate).filter(is_under_way))?;
    Some((ConditionType::Reconciling, why))
}

/// `Ready` of an object about which nothing was reported yet.
fn starting(generation: Option<i64>, now: Timestamp) -> Condition {
    Condition {
        type_: ConditionType::Ready.as_str().into(),
        status: "Unknown".into(),
        reason: Reason::Starting.as_str().into(),
        message: "accepted; nothing has been done yet".into(),
        last_transition_time: Time(now),
        observed_generation: generation,
    }
}

#[cfg(test)]
#[path = "kstatus_tests.rs"]
pub(crate) mod tests;
