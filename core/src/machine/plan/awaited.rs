//! Whom or what a Machine waits for, by the reason of what blocks it: meanwhile the clocks of its
//! stage and its update stand still.

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Observed, Stuck};
use super::{Plan, drain, summary};
use crate::api::conditions::{ConditionType, Finding, Reason, Severity};
use crate::api::machine_stage::{Awaited, StageName};
use crate::{Next, new_for};

/// Whom or what a Machine waits for; `None` while it is worked on.
pub(super) fn by_stage(observed: &Observed, plan: &Plan) -> Option<Awaited> {
    if plan.stage == Some(StageName::Running) && is_updating(plan) {
        return by_change(observed, plan);
    }
    let paused = of_pause_or_drain(plan);
    let released = observed.held().filter(|held| held.releasing);
    let stuck = released.and_then(|held| held.stuck.as_ref());
    let of_host = stuck.and_then(|stuck| match stuck {
        Stuck::Silent(_) | Stuck::Fenced => Some(Awaited::Host),
        Stuck::ResetFails | Stuck::LeftAlone | Stuck::Retained => Some(Awaited::Person),
        Stuck::Waits => None,
    });
    let blocking = || of_drain(observed, summary::blocking(&plan.findings)?.reason());
    paused.or(of_host).or_else(blocking)
}

/// The same of its update, by the condition that tells of it.
pub(super) fn by_change(observed: &Observed, plan: &Plan) -> Option<Awaited> {
    let said = |name| plan.findings.iter().find(|found| found.condition == name);
    let told = said(ConditionType::Updating).or_else(|| said(ConditionType::UpToDate));
    // its own control plane is what is changed
    let reason = told.map(Finding::reason);
    let reason = reason.filter(|reason| *reason != Reason::WaitingForControlPlane);
    of_pause_or_drain(plan).or_else(|| of_drain(observed, reason?))
}

/// What a new Machine needs and does not exist may be applied after it.
pub(super) fn await_missing(observed: &Observed, plan: &mut Plan, now: Timestamp) {
    let Some(left) = new_for(&observed.machine.metadata, now) else {
        return;
    };
    for finding in &mut plan.findings {
        let lacks = matches!(
            finding.reason(),
            Reason::ClusterMissing | Reason::MachineClassMissing | Reason::NoMatchingHost
        );
        if lacks && finding.condition == ConditionType::InfrastructureReady {
            finding.why.reason = Reason::Starting;
            plan.next = plan.next.sooner(Next::After(left));
        }
    }
}

fn is_updating(plan: &Plan) -> bool {
    let mut findings = plan.findings.iter();
    findings.any(|found| found.condition == ConditionType::Updating)
}

/// The same of a reason; a drain that has no limit of its own has that of its stage.
fn of_drain(observed: &Observed, reason: Reason) -> Option<Awaited> {
    let has_limit = drain::limit(observed).is_some_and(|limit| limit > 0);
    of(reason).filter(|awaited| *awaited != Awaited::Pods || has_limit)
}

/// Whether somebody or something else is waited for where this was found.
pub(super) fn is_wait(observed: &Observed, found: &Finding) -> bool {
    let is_own = found.condition == ConditionType::Updating
        && found.reason() == Reason::WaitingForControlPlane;
    !is_own && of_drain(observed, found.reason()).is_some()
}

fn of_pause_or_drain(plan: &Plan) -> Option<Awaited> {
    let is = |finding: &&Finding| {
        let (condition, reason) = (finding.condition, finding.reason());
        (condition == ConditionType::Paused && reason == Reason::Paused)
            || (condition == ConditionType::Draining && reason == Reason::DrainBlocked)
    };
    of(plan.findings.iter().find(is)?.reason())
}

/// Whom or what a reason names that is waited for.
fn of(reason: Reason) -> Option<Awaited> {
    Some(match reason {
        Reason::WaitingForTurn => Awaited::Turn,
        Reason::Paused => Awaited::Pause,
        Reason::DrainBlocked => Awaited::Budget,
        // for limits of its own, which are the user's
        Reason::Draining => Awaited::Pods,
        Reason::WaitingForVolumes => Awaited::Volumes,
        Reason::SshBusy
        | Reason::SshUnreachable
        | Reason::SshDisconnected
        | Reason::HostHangs
        | Reason::HostUnreachable
        | Reason::HostOff
        | Reason::BMCUnreachable
        | Reason::HypervisorUnreachable
        | Reason::LibvirtUnavailable => Awaited::Host,
        Reason::NoMatchingHost
        | Reason::NoHostAvailable
        | Reason::NoMatchingHypervisor
        | Reason::NoHypervisorAvailable
        | Reason::InsufficientCapacity => Awaited::Capacity,
        Reason::VersionSkew
        | Reason::WaitingForCertificates
        | Reason::WaitingForControlPlane
        | Reason::WaitingForWorkers
        | Reason::WaitingForClusterProfile
        | Reason::ClusterDeleting
        | Reason::ApiUnreachable
        | Reason::WaitingForApi
        | Reason::EtcdUnreachable
        | Reason::EtcdCorrupt
        | Reason::EtcdNoSpace
        | Reason::MemberUnhealthy
        | Reason::QuorumAtRisk
        | Reason::QuorumLost
        | Reason::TooFewMembersAnswer => Awaited::Cluster,
        Reason::WaitingForHook => Awaited::Person,
        _ if reason.severity() == Severity::Warning => Awaited::Person,
        _ => return None,
    })
}
