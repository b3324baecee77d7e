//! What a plan found, as the status of the Machine. Pure.

use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference};
use k8s_openapi::jiff::Timestamp;

use super::observed::{Lookup, Observed, Placement};
use super::plan::{Phase, Plan, marks, membership, stuck, terminal};
use super::reported;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Severity, Status};
use crate::api::machine::{MachineStatus, MachineVersions};
use crate::control_plane::component::Component;
use crate::status_write::{CALM, WORDS, due, verdicts};

/// Conditions whose news is worth an Event.
pub const EVENTS: &[ConditionType] = &[
    ConditionType::InfrastructureReady,
    ConditionType::BootstrapReady,
    ConditionType::NodeHealthy,
    ConditionType::UpToDate,
    ConditionType::Updating,
    ConditionType::Deleting,
    ConditionType::Draining,
    ConditionType::Progressing,
];

/// `errorReason` of a Machine whose own words cannot be used (2019 API).
const TERMINAL: Reason = Reason::InvalidConfiguration;

/// A condition tells news when its reason changed. What is said for the first time is news where it
/// is trouble, the end of the way, or the beginning of the last one: that a Machine which was just
/// made is on its way is what everybody expects.
pub fn is_news(old: &MachineStatus, finding: &Finding) -> bool {
    let before = conditions::find(&old.conditions, finding.condition);
    // that it asks for the turn, and gets it at once
    if finding.reason() == Reason::TakingTurn {
        return false;
    }
    // what a drain waits for, the deletion tells
    if finding.condition == ConditionType::Draining && finding.status == Status::True {
        return false;
    }
    // that an update begins is told by the condition UpToDate, and its later steps by the other one
    let is_repeated = match finding.condition {
        ConditionType::Updating => finding.reason() == Reason::Updating,
        ConditionType::UpToDate => conditions::is_true(&old.conditions, ConditionType::Updating),
        _ => false,
    };
    if is_repeated && finding.reason() != Reason::VersionsEqual {
        return false;
    }
    if let Some(before) = before {
        return before.reason != finding.reason();
    }
    let is_ready = finding.reason() == Reason::NodeReady;
    let is_trouble = finding.reason().severity() == Severity::Warning;
    let is_end = finding.condition == ConditionType::Deleting;
    is_ready || is_trouble || is_end
}

/// Conditions that stay without a finding: the last two are a `MachineHealthCheck`'s.
const KEPT: [ConditionType; 4] = [
    ConditionType::Ready,
    ConditionType::Paused,
    ConditionType::HealthCheckSucceeded,
    ConditionType::Healthy,
];

/// For how long a status is held back. What a Machine is about stands nowhere else, so its words
/// wait no longer than its progress; the Node of a worker that has just appeared becomes Ready
/// once its network is there, which is worth one write.
pub fn holds_back(is_control_plane: bool, old: &MachineStatus, new: &MachineStatus) -> Duration {
    let phase = new.phase.as_deref();
    let passes = PASSED.iter().any(|one| phase == Some(one.as_str()));
    let awaits_network = [Phase::NotReady, Phase::Unknown].map(Phase::as_str);
    let awaits_network = awaits_network.iter().any(|one| phase == Some(*one));
    let appears = old.node_ref.is_none() && awaits_network && !is_control_plane;
    let read = |status| {
        (
            read_by_others(status, is_control_plane),
            (!passes).then(|| read_of_settled(status)),
        )
    };
    let is_read = !appears && read(old) != read(new);
    let time = due(old, new, is_read, CALM);
    if appears && !time.is_zero() {
        WORDS
    } else {
        time
    }
}

/// Phases through which a Machine only passes: nobody acts on the conditions that it has in them.
const PASSED: [Phase; 4] = [
    Phase::Pending,
    Phase::Provisioning,
    Phase::Bootstrapping,
    Phase::Deleting,
];

/// What others read of any Machine. Of a worker nobody reads the address of its host.
fn read_by_others(status: &MachineStatus, is_control_plane: bool) -> impl PartialEq + use<> {
    let MachineStatus {
        node_ref,
        addresses,
        versions,
        error_reason,
        turn_request,
        ..
    } = status.clone();
    let addresses = is_control_plane.then_some(addresses);
    (node_ref, addresses, versions, error_reason, turn_request)
}

/// What others read beside that of one that runs: sets and Clusters count by its conditions,
/// planners grant by them, and its own next pass goes by how far an update is.
fn read_of_settled(status: &MachineStatus) -> impl PartialEq + use<> {
    let verdicts = verdicts(&status.conditions).into_iter();
    let verdicts: Vec<_> = verdicts.map(|one| one.map(str::to_owned)).collect();
    let change = status.change.as_ref();
    (
        verdicts,
        change.map(|change| (change.step.clone(), change.begun)),
        status.addresses.clone(),
        status.phase.clone(),
        status.settled_generation,
    )
}

/// The status that follows from a plan; its conditions are those that stay although no finding is
/// about them.
pub fn status(
    observed: &Observed,
    plan: &Plan,
    old: &MachineStatus,
    now: Timestamp,
) -> MachineStatus {
    let mut conditions = old.conditions.clone();
    // What no finding speaks of any more is over, not unknown.
    conditions.retain(|c| {
        KEPT.iter().any(|type_| c.type_ == *type_)
            || plan.findings.iter().any(|f| c.type_ == f.condition)
            || keeps(plan, &c.type_)
            || stands(observed, &c.type_)
    });
    let mut status = MachineStatus {
        conditions,
        phase: Some(plan.phase.as_str().into()),
        stage: stuck::clock(observed, plan, old.stage.as_ref(), now),
        turn_request: plan.asks.map(|asks| asks.told(old, now)),
        ..old.clone()
    };
    let failure = terminal(observed, plan);
    status.error_reason = failure.map(|_| TERMINAL.as_str().into());
    status.error_message = failure.map(Finding::message);
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
    if let Lookup::Known(Some(node)) = &observed.node {
        // one that registered anew is recorded once it has what kubeadm gave the one before
        if !marks::lacks_marks(observed, node) {
            status.node_ref = Some(ObjectReference {
                api_version: Some("v1".into()),
                kind: Some("Node".into()),
                name: Some(node.name.clone()),
                uid: Some(node.uid.clone()),
                ..ObjectReference::default()
            });
        }
        status.addresses.clone_from(&node.addresses);
        let before = status.versions.take();
        status.versions = Some(MachineVersions {
            kubelet: node.kubelet_version.clone(),
            control_plane: control_plane_version(observed, before),
        });
    }
    status
}

/// Fills in what is read again, of a status whose conditions are complete; its `change` is the one
/// before.
pub fn record(observed: &Observed, status: &mut MachineStatus, plan: &Plan, now: Timestamp) {
    if let Some(old) = &observed.machine.status {
        reported::take_over(status, old);
    }
    let bootstrap = conditions::find(&status.conditions, ConditionType::BootstrapReady);
    if let Some(said) = bootstrap.filter(|said| said.status == Status::True) {
        let since = &said.last_transition_time;
        status.bootstrapped_at.get_or_insert_with(|| since.clone());
    }
    // while its Node cannot be read, nothing is said of that
    if conditions::find(&status.conditions, ConditionType::UpToDate).is_some() {
        status.settled_generation = reported::settled(status);
    }
    status.recorded_at.clone_from(&status.last_updated);
    let begun = conditions::is_true(&status.conditions, ConditionType::Updating);
    let before = status.change.take();
    status.change = stuck::change(observed, plan, before.as_ref(), begun, now);
}

/// What its own API server runs, as that last said. Of one that cannot be asked, since it is
/// simulated or not ours, what is wanted.
fn control_plane_version(observed: &Observed, before: Option<MachineVersions>) -> Option<String> {
    let wanted = observed.machine.versions()?.control_plane.clone()?;
    if !membership::is_asked(observed) {
        return Some(wanted);
    }
    let cluster = observed.cluster.as_ref();
    let components = cluster.and_then(|cluster| cluster.components.as_ref());
    let said = components.and_then(|components| components.version.clone());
    said.or_else(|| before.and_then(|before| before.control_plane))
}

/// What was said of the components of a control plane stays until they say something else: after a
/// restart of ours, they are asked before that is decided.
fn stands(observed: &Observed, condition: &str) -> bool {
    let mut components = Component::ALL.iter();
    membership::is_asked(observed)
        && matches!(&observed.placement, Placement::Held(_))
        && components.any(|component| condition == component.condition().as_str())
}

/// While a Machine is paused or being deleted, what was true of it stays to be read; that the
/// user's act waits for the deletion is over with that.
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

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
