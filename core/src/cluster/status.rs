//! What a plan found, as the status of the Cluster. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::observed::{MachineFact, Observed};
use super::plan::Plan;
use crate::api::cluster::{ApiEndpoint, HeldTurn, MachineCounts, Turn, TurnAction};
use crate::api::conditions::{self, ConditionType, Finding, Reason};
use crate::api::machine_stage::TurnRequest;
use crate::api::{Cluster, ClusterStatus};
use crate::status_write::{CALM, WORDS, due};

/// Conditions whose news is worth an Event.
pub const EVENTS: &[ConditionType] = &[
    ConditionType::ConfigurationValid,
    ConditionType::CertificatesReady,
    ConditionType::ControlPlaneInitialized,
    ConditionType::ControlPlaneHealthy,
    ConditionType::EtcdHealthy,
    ConditionType::Deleting,
];

/// Whether a finding of [`EVENTS`] is published as an Event. Of etcd that a member was removed:
/// what its members answer changes with each one that is restarted.
pub fn is_news(old: &ClusterStatus, finding: &Finding) -> bool {
    match finding.condition {
        ConditionType::EtcdHealthy => finding.reason() == Reason::MemberRemoved,
        _ => conditions::is_news(&old.conditions, finding),
    }
}

/// For how long a status is held back. How far its workers are stands on their MachineDeployments
/// as well, and sooner, also while it has more of them. `warns`: its words quote a warning of a
/// Machine.
pub fn holds_back(warns: bool, old: &ClusterStatus, new: &ClusterStatus) -> Duration {
    let is_read = read_by_others(old) != read_by_others(new);
    let of_control_plane = |status: &ClusterStatus| {
        let ClusterStatus {
            control_plane,
            control_plane_turn,
            ..
        } = status.clone();
        (control_plane, control_plane_turn)
    };
    let are_words = of_control_plane(old) == of_control_plane(new) && !warns;
    let time = due(old, new, is_read, if are_words { WORDS } else { CALM });
    let grows = is_true(old, ConditionType::Ready) && workers(old) < workers(new) && !warns;
    if grows && !time.is_zero() {
        WORDS
    } else {
        time
    }
}

fn workers(status: &ClusterStatus) -> i32 {
    status.workers.as_ref().map_or(0, |workers| workers.desired)
}

/// What its Machines, their planner and its profile read.
fn read_by_others(status: &ClusterStatus) -> impl PartialEq + use<> {
    let holds = [
        ConditionType::CertificatesReady,
        ConditionType::ControlPlaneInitialized,
        ConditionType::ControlPlaneHealthy,
        ConditionType::Paused,
    ];
    let holds = holds.map(|name| is_true(status, name));
    let asks = status.turn_request.is_some();
    (status.endpoint.clone(), status.version.clone(), asks, holds)
}

fn is_true(status: &ClusterStatus, name: ConditionType) -> bool {
    conditions::is_true(&status.conditions, name)
}

/// Who has the control-plane turn, since when it was seen to be so.
pub fn turn(cluster: &Cluster, observed: &Observed, now: Timestamp) -> Option<HeldTurn> {
    let Turn { name, action, .. } = observed.turn.as_ref()?;
    let before = cluster.status.as_ref();
    let before = before.and_then(|status| status.control_plane_turn.as_ref());
    let is_same = |held: &&HeldTurn| held.name == *name && held.action == action.as_str();
    let since = before.filter(is_same).map(|held| held.since.clone());
    Some(HeldTurn {
        name: name.clone(),
        action: action.as_str().into(),
        since: since.unwrap_or(Time(now)),
    })
}

/// That it asks for the turn, since when it does.
fn turn_request(cluster: &Cluster, plan: &Plan, now: Timestamp) -> Option<TurnRequest> {
    let before = cluster.status.as_ref();
    let before = before.and_then(|status| status.turn_request.as_ref());
    plan.asks.then(|| TurnRequest {
        action: TurnAction::Remove.as_str().into(),
        half_done: false,
        since: before.map_or(Time(now), |request| request.since.clone()),
    })
}

/// The status that follows from a plan; `None` if nothing is to be reported.
pub fn status(
    cluster: &Cluster,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Option<ClusterStatus> {
    if plan.phase.is_empty() {
        // nothing is told of it, but what it asks for holds others up
        let mut status = cluster.status.clone()?;
        let asked = status.turn_request.take();
        return asked.filter(|_| !plan.asks).map(|_| status);
    }
    let mut status = ClusterStatus {
        phase: Some(plan.phase.into()),
        control_plane: Some(counts(&observed.machines, true, 0)),
        control_plane_turn: turn(cluster, observed, now),
        turn_request: turn_request(cluster, plan, now),
        workers: Some(counts(&observed.machines, false, observed.well)),
        ..cluster.status.clone().unwrap_or_default()
    };
    // a mistake in its settings moves nothing
    if let (Some(endpoint), Ok(_)) = (&observed.endpoint, &observed.spec) {
        status.endpoint = Some(endpoint.to_string());
        status.api_endpoints = vec![ApiEndpoint {
            host: endpoint.host.clone(),
            port: i32::from(endpoint.port),
        }];
    }
    if let Some(version) = observed
        .health
        .as_ref()
        .and_then(|health| health.version.clone())
    {
        status.version = Some(version);
    }
    Some(status)
}

fn counts(machines: &[MachineFact], control_plane: bool, well: usize) -> MachineCounts {
    let mine = machines
        .iter()
        .filter(|machine| machine.control_plane == control_plane);
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    MachineCounts {
        desired: count(well + mine.clone().filter(|machine| !machine.deleting).count()),
        ready: count(well + mine.filter(|machine| machine.ready).count()),
    }
}
