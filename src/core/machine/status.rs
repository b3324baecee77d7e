//! What a plan found, as the status of the Machine. Pure.

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference};

use super::observed::{Observed, Placement, Seen};
use super::plan::{Plan, terminal};
use crate::api::conditions::{self, ConditionType, Finding, Reason};
use crate::api::machine::{MachineStatus, MachineVersions};

/// Conditions whose news is worth an Event.
pub const EVENTS: &[ConditionType] = &[
    ConditionType::InfrastructureReady,
    ConditionType::BootstrapReady,
    ConditionType::NodeHealthy,
    ConditionType::Deleting,
];

/// `errorReason` of a Machine whose own words cannot be used (2019 API).
const TERMINAL: Reason = Reason::InvalidConfiguration;

/// A condition tells news when its reason changed, and it did not merely begin by waiting.
pub fn is_news(old: &MachineStatus, finding: &Finding) -> bool {
    match conditions::find(&old.conditions, finding.condition) {
        Some(before) => before.reason != finding.reason,
        None => finding.reason != Reason::WaitingForNode,
    }
}

/// The status that follows from a plan; its conditions are those that stay although no finding is about them.
pub fn status(observed: &Observed, plan: &Plan, old: &MachineStatus) -> MachineStatus {
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
        conditions,
        phase: Some(plan.phase.as_str().into()),
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
