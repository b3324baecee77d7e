//! The status of a Machine, of which a state keeps what decisions read.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tatara_core::api::cluster::TurnAction;
use tatara_core::api::conditions::{ConditionType, Reason};
use tatara_core::api::machine::{MachineStatus, MachineVersions};
use tatara_core::api::machine_stage::{Clock, ReportedChange, TurnRequest};
use tatara_core::machine::reported::{stamp, take_over};

use super::build::{at, condition, host_name, host_named, node_uid, version, version_of};
use super::state::Status;

/// A status as it stands in the API.
pub fn built(of: &Status) -> MachineStatus {
    let mut conditions = Vec::new();
    if let Some(reason) = of.updating {
        conditions.push(condition(ConditionType::Updating, Some(true), reason, true));
    }
    if of.draining {
        let reason = Reason::Draining;
        conditions.push(condition(ConditionType::Draining, Some(true), reason, true));
    }
    if let Some((status, reason, current)) = of.up_to_date {
        conditions.push(condition(ConditionType::UpToDate, status, reason, current));
    }
    if let Some((status, reason)) = of.bootstrap {
        conditions.push(condition(
            ConditionType::BootstrapReady,
            status,
            reason,
            true,
        ));
    }
    if let Some(healthy) = of.healthy {
        let (name, reason) = (ConditionType::NodeHealthy, Reason::NodeReady);
        conditions.push(condition(name, Some(healthy), reason, true));
    }
    let mut status = MachineStatus {
        node_ref: of.node.map(|node| ObjectReference {
            name: Some(host_name(node.into()).into()),
            uid: Some(node_uid(node.into())),
            ..ObjectReference::default()
        }),
        versions: of.kubelet.map(|kubelet| MachineVersions {
            kubelet: version(kubelet).into(),
            control_plane: of.runs.map(|runs| version(runs).into()),
        }),
        conditions,
        ..MachineStatus::default()
    };
    status.turn_request = of.asks.map(|(action, half_done)| TurnRequest {
        half_done,
        action: action.as_str().into(),
        since: Time(at(0)),
    });
    // as the manager records beside the conditions
    let conditions = status.clone();
    take_over(&mut status, &conditions);
    status.change = of.updating.map(|_| ReportedChange {
        kind: "Update".into(),
        step: None,
        begun: true,
        clock: Clock::begun(None, at(0)),
    });
    status.recorded_at.clone_from(&status.last_updated);
    stamp(&mut status, at(0));
    status
}

/// Of a status what decisions read.
pub fn compact(of: &MachineStatus) -> Status {
    let find = |name: ConditionType| {
        let mut all = of.conditions.iter();
        let found = all.find(|condition| condition.type_ == name.as_str())?;
        let reason = Reason::parse(&found.reason)?;
        let is_current = found.observed_generation == Some(1);
        Some((truth(&found.status), reason, is_current))
    };
    let holds = |name| find(name).filter(|(status, ..)| *status == Some(true));
    let node = of.node_ref.as_ref().and_then(|node| node.name.as_deref());
    let versions = of.versions.as_ref();
    Status {
        node: node.map(|name| u8::try_from(host_named(name)).expect("few")),
        kubelet: versions.map(|versions| version_of(&versions.kubelet)),
        runs: versions.and_then(|all| all.control_plane.as_deref().map(version_of)),
        updating: holds(ConditionType::Updating).map(|(_, reason, _)| reason),
        draining: holds(ConditionType::Draining).is_some(),
        up_to_date: find(ConditionType::UpToDate),
        bootstrap: find(ConditionType::BootstrapReady).map(|(status, reason, _)| (status, reason)),
        healthy: find(ConditionType::NodeHealthy).and_then(|(status, ..)| status),
        asks: of.turn_request.as_ref().map(|asks| {
            let action = TurnAction::parse(&asks.action).expect("an action");
            (action, asks.half_done)
        }),
    }
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}
