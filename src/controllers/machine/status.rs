//! Writes what a plan found on the Machine: conditions, phase, Events. Only what differs is written.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::observed::{Observed, Placement, Seen};
use super::plan::{Plan, terminal};
use crate::api::conditions::{self, ConditionType, Finding, Reason};
use crate::api::machine::{MachineStatus, MachineVersions};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Conditions whose news is worth an Event.
const TOLD: [ConditionType; 4] = [
    ConditionType::InfrastructureReady,
    ConditionType::BootstrapReady,
    ConditionType::NodeHealthy,
    ConditionType::Deleting,
];

/// `errorReason` of a Machine whose own words cannot be used (2019 API).
const TERMINAL: Reason = Reason::InvalidConfiguration;

/// Writes the status, if it differs, and an Event for each condition that is news. The Machine is from
/// then on observed as it was written, so that what follows does not meet our own write as somebody's.
pub async fn write(
    context: &Context,
    observed: &mut Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let machine = observed.machine.clone();
    let old = machine.status.clone().unwrap_or_default();
    let new = status(observed, plan, &old, now);
    if new == old {
        return Ok(());
    }
    let stamped = MachineStatus {
        last_updated: Some(Time(now)),
        ..new.clone()
    };
    let body = serde_json::to_value(&stamped)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    let body = with_removed(body, &old);
    let written = patch::status(&context.client, machine.as_ref(), body).await?;
    observed.machine = Arc::new(written);
    let uid = observed.uid();
    context.metrics.entered(uid, plan.phase.as_str(), now);
    if old.phase != new.phase {
        tracing::info!(
            cluster = observed.marker.cluster,
            machine = observed.marker.machine,
            host = new.host.as_deref(),
            phase = plan.phase.as_str(),
            "machine"
        );
    }
    for finding in plan
        .findings
        .iter()
        .filter(|finding| is_news(&old, finding))
    {
        context.event(machine.as_ref(), finding).await;
    }
    Ok(())
}

/// A merge patch removes what is `null`: fields that the old status had and the new has not.
fn with_removed(mut body: serde_json::Value, old: &MachineStatus) -> serde_json::Value {
    if let (Ok(serde_json::Value::Object(old)), Some(new)) =
        (serde_json::to_value(old), body.as_object_mut())
    {
        for key in old.keys() {
            new.entry(key.clone()).or_insert(serde_json::Value::Null);
        }
    }
    body
}

/// A condition tells news when its reason changed, and it did not merely begin by waiting.
fn is_news(old: &MachineStatus, finding: &Finding) -> bool {
    if !TOLD.contains(&finding.condition) {
        return false;
    }
    match conditions::find(&old.conditions, finding.condition) {
        Some(before) => before.reason != finding.reason,
        None => finding.reason != Reason::WaitingForNode,
    }
}

pub(super) fn status(
    observed: &Observed,
    plan: &Plan,
    old: &MachineStatus,
    now: Timestamp,
) -> MachineStatus {
    let generation = observed.machine.metadata.generation;
    let mut conditions = old.conditions.clone();
    // What no finding speaks of any more is over, not unknown.
    conditions.retain(|c| {
        [ConditionType::Ready, ConditionType::Paused]
            .iter()
            .any(|type_| c.type_ == *type_)
            || plan.findings.iter().any(|f| c.type_ == f.condition)
            || keeps(plan, &c.type_)
    });
    let mut status = MachineStatus {
        conditions: conditions::merge(&conditions, &plan.findings, generation, now),
        phase: Some(plan.phase.as_str().into()),
        observed_generation: generation,
        ..old.clone()
    };
    let failure = terminal(observed, plan);
    status.error_reason = failure.map(|_| TERMINAL.as_str().into());
    status.error_message = failure.map(|finding| finding.message.clone());
    // the stock cluster-autoscaler knows them by these names
    status.failure_reason.clone_from(&status.error_reason);
    status.failure_message.clone_from(&status.error_message);
    match &observed.placement {
        Placement::Held(held) => {
            status.host = Some(held.name.clone());
            if let Some(address) = &held.address {
                status.addresses = vec![NodeAddress {
                    type_: "InternalIP".into(),
                    address: address.clone(),
                }];
            }
        }
        Placement::None(_) => status.host = None,
    }
    if let Seen::Known(Some(node)) = &observed.node {
        status.node_ref = Some(ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Node".into()),
            name: Some(node.name.clone()),
            uid: Some(node.uid.clone()),
            ..ObjectReference::default()
        });
        status.addresses.clone_from(&node.addresses);
        let control_plane = observed
            .machine
            .versions()
            .and_then(|versions| versions.control_plane.clone());
        status.versions = Some(MachineVersions {
            kubelet: node.kubelet_version.clone(),
            control_plane,
        });
    }
    status
}

/// While a Machine is paused or being deleted, what was true of it stays to be read; that the user's act waits for the
/// deletion is over with that.
fn keeps(plan: &Plan, condition: &str) -> bool {
    let set_aside = plan.findings.iter().any(|f| {
        matches!(
            (f.condition, f.status),
            (
                ConditionType::Paused | ConditionType::Deleting,
                conditions::Status::True
            )
        )
    });
    set_aside
        && condition != ConditionType::Paused.as_str()
        && condition != ConditionType::HostIsGoneUsed.as_str()
}
