//! A control plane asks for the turn, in its status; the planner of its Cluster gives it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::super::reported;
use super::{Plan, pace};
use crate::Why;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{Finding, Reason};
use crate::api::machine::MachineStatus;
use crate::api::machine_stage::TurnRequest;
use crate::control_plane::Purpose;

/// What a Machine asks the turn of its control plane for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Request {
    /// What it is about to do.
    pub action: TurnAction,
    /// That was begun: a job broke off that may have stopped its etcd member, or an attempt to join
    /// left one.
    pub half_done: bool,
}

impl Request {
    /// For something that was not begun.
    pub(super) fn new(action: TurnAction) -> Self {
        Self {
            action,
            half_done: false,
        }
    }

    /// As it stands in the status, since when it stands there.
    pub(crate) fn told(self, old: &MachineStatus, now: Timestamp) -> TurnRequest {
        let same = old.turn_request.as_ref();
        let same = same.filter(|request| request.action == self.action.as_str());
        TurnRequest {
            action: self.action.as_str().into(),
            half_done: self.half_done,
            since: same.map_or(Time(now), |request| request.since.clone()),
        }
    }
}

/// Whether it has asked for this already, so that what precedes that was done.
pub(super) fn stands(observed: &Observed, action: TurnAction) -> bool {
    let status = observed.machine.status.as_ref();
    // what an older release left there is nobody's request
    let status = status.filter(|status| reported::has_fields(status));
    let request = status.and_then(|status| status.turn_request.as_ref());
    request.is_some_and(|request| request.action == action.as_str())
}

/// The plan once all that precedes a request was done: it is told at once that it asks.
pub(super) fn after(observed: &Observed, plan: &Plan) -> Option<Plan> {
    let request = plan.asks_then?;
    let mut asks = plan.clone();
    let waits = |found: &Finding| found.reason() == Reason::WaitingForTurn;
    if !plan.findings.iter().any(waits) {
        let purpose = Purpose::of(request.action);
        let found = purpose.refused(Why::new(Reason::TakingTurn, purpose.waits));
        asks.learn(observed, Some(found));
    }
    // what is left of them is done by the next pass
    asks.actions.clear();
    (asks.asks, asks.asks_then) = (Some(request), None);
    asks.next = asks.next.sooner(pace::of(observed, &asks));
    Some(asks)
}

/// It asks, and waits for the turn.
pub(super) fn plan(observed: &Observed, request: Request) -> Plan {
    Plan {
        asks: Some(request),
        ..Plan::waiting(finding(observed, request.action))
    }
}

/// That it waits for the turn; why the planner gives it to nobody, or to others first, if that is
/// known.
pub(super) fn finding(observed: &Observed, action: TurnAction) -> Finding {
    let purpose = Purpose::of(action);
    let what = purpose.waits;
    let cluster = observed.cluster.as_ref();
    let (reason, message) = match cluster.and_then(|cluster| cluster.turn_waits.as_ref()) {
        Some(why) => (Reason::WaitingForTurn, format!("{what}: {why}")),
        None => (Reason::TakingTurn, what.to_owned()),
    };
    purpose.refused(Why::new(reason, message))
}
