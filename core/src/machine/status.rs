//! What a plan found, as the status of the Machine. Pure.

use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference};
use k8s_openapi::jiff::Timestamp;

use super::observed::{Lookup, Observed, Placement};
use super::plan::{Phase, Plan, marks, membership, stuck, terminal};
use super::reported;
use crate::TRANSIENT;
use crate::api::conditions::{self, ConditionType, Finding, Reason, Severity, Status};
use crate::api::machine::{MachineStatus, MachineVersions};
use crate::control_plane::component::Component;

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

/// A condition tells news when its reason changed. What is said for the first time is news where it is trouble, the end of
/// the way, or the beginning of the last one: that a Machine which was just made is on its way is what everybody expects.
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

/// For how long the status of a Machine is held back whose Node has appeared: it becomes Ready once its network is there.
const NODE_STARTS: Duration = Duration::from_secs(5);

/// For how long a status is held back through which a Machine only passes: it is under way, nothing asks for a person, and
/// nothing was found out that others read: of a worker nobody reads the address of its host. A Node that has just appeared
/// becomes Ready in a moment, which is worth one write.
pub fn holds_back(
    observed: &Observed,
    old: &MachineStatus,
    new: &MachineStatus,
    plan: &Plan,
) -> Duration {
    let under_way = matches!(
        plan.phase,
        Phase::Pending | Phase::Provisioning | Phase::Bootstrapping | Phase::Deleting
    );
    let is_read = observed.machine.is_control_plane();
    let told = |status: &MachineStatus| {
        let MachineStatus {
            node_ref,
            addresses,
            versions,
            error_reason,
            turn_request,
            ..
        } = status;
        (
            node_ref.clone(),
            is_read.then(|| addresses.clone()),
            versions.clone(),
            error_reason.clone(),
            turn_request.clone(),
        )
    };
    // the end of a drain that was told is told too, before the machine is let go of
    let was_draining = conditions::is_true(&old.conditions, ConditionType::Draining);
    let ends_drain = |finding: &Finding| {
        finding.condition == ConditionType::Draining
            && finding.status != Status::True
            && was_draining
    };
    let asks = |finding: &Finding| {
        let is_paused =
            finding.condition == ConditionType::Paused && finding.status == Status::True;
        // what was done to a server is said, however soon the Machine is deleted after it
        is_paused
            || ends_drain(finding)
            || finding.reason() == Reason::HostFenced
            || finding.reason().severity() == Severity::Warning
    };
    let appears = matches!(plan.phase, Phase::NotReady | Phase::Unknown) && old.node_ref.is_none();
    let is_same = under_way && told(old) == told(new);
    if plan.findings.iter().any(asks) {
        Duration::ZERO
    } else if appears {
        NODE_STARTS
    } else if is_same {
        TRANSIENT
    } else {
        Duration::ZERO
    }
}

/// The status that follows from a plan; its conditions are those that stay although no finding is about them.
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

/// Fills in what is read again, of a status whose conditions are complete; its `change` is the one before.
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

/// What its own API server runs, as that last said. Of one that cannot be asked, since it is simulated or not ours, what is
/// wanted.
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

/// What was said of the components of a control plane stays until they say something else: after a restart of ours, they are
/// asked before that is decided.
fn stands(observed: &Observed, condition: &str) -> bool {
    let mut components = Component::ALL.iter();
    membership::is_asked(observed)
        && matches!(&observed.placement, Placement::Held(_))
        && components.any(|component| condition == component.condition().as_str())
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
