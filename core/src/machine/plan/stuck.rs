//! A Machine that is longer in a stage than that ever takes, although nothing is waited for that is known. One rule for all stages.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Plan, summary};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason, Severity};
use crate::api::machine_stage::{Awaited, ReportedStage, StageName};
use crate::words::word;

/// After how much work a stage is stuck; `None` for one that lasts, or waits for others alone.
const fn limit(stage: StageName) -> Option<Duration> {
    let minutes = match stage {
        StageName::Choosing | StageName::Running | StageName::Stays | StageName::Ended => {
            return None;
        }
        StageName::Claiming => 2,
        StageName::Taking => 5,
        StageName::Ending => 10,
        StageName::AwaitingGrant | StageName::Registering => 15,
        StageName::Creating | StageName::Initialising | StageName::Joining => 30,
        StageName::Preparing | StageName::Finishing | StageName::Leaving | StageName::Releasing => {
            60
        }
    };
    Some(Duration::from_mins(minutes))
}

/// The stage as it is reported, with its clock. Of a Machine whose stage is not known in this pass, the one that was known last.
pub fn clock(plan: &Plan, before: Option<&ReportedStage>, now: Timestamp) -> Option<ReportedStage> {
    let awaited = awaited(plan);
    match (plan.stage, before) {
        (Some(name), Some(before)) if before.name != name.as_str() => {
            Some(ReportedStage::entered(name, awaited, now))
        }
        (Some(name), None) => Some(ReportedStage::entered(name, awaited, now)),
        (_, before) => Some(before?.awaiting(awaited, now)),
    }
}

/// Adds that it is stuck, or looks again when it would be.
pub(super) fn report(observed: &Observed, plan: &mut Plan, now: Timestamp) {
    let told = observed.machine.status.as_ref();
    let before = told.and_then(|status| status.stage.as_ref());
    let (Some(name), Some(stage)) = (plan.stage, clock(plan, before, now)) else {
        return;
    };
    let Some(limit) = limit(name).filter(|_| stage.waits_for.is_none()) else {
        return;
    };
    let worked = stage.worked(now);
    if let Some(left) = limit.checked_sub(worked).filter(|left| !left.is_zero()) {
        plan.next = plan.next.sooner(Next::After(left));
        return;
    }
    let (limit, remedy) = (limit.as_secs() / 60, remedy(observed, name));
    let what = summary::blocking(&plan.findings).map(Finding::message);
    let what = what.filter(|what| !what.is_empty());
    let what = what.map_or(String::new(), |what| format!(": {what}"));
    let message = format!("stage {name} takes longer than {limit} minutes{what}. {remedy}");
    let progressing = ConditionType::Progressing;
    let finding = Finding::no(progressing, Reason::ProgressDeadlineExceeded, message);
    plan.findings.push(finding);
}

/// What to look at.
fn remedy(observed: &Observed, stage: StageName) -> String {
    let (namespace, machine) = (&observed.marker.namespace, word(&observed.marker.machine));
    let look = match stage {
        StageName::Preparing
        | StageName::Initialising
        | StageName::Joining
        | StageName::Finishing => format!("tatara logs machine {machine} -n {namespace}"),
        StageName::Registering => "on its host, journalctl -u kubelet".into(),
        _ => format!("tatara describe machine {machine} -n {namespace}"),
    };
    format!("What it does shows: {look}")
}

/// Whom or what a Machine waits for; `None` while it is worked on.
fn awaited(plan: &Plan) -> Option<Awaited> {
    let paused = plan.findings.iter().find(|finding| {
        finding.condition == ConditionType::Paused && finding.reason() == Reason::Paused
    });
    let drain = plan.findings.iter().find(|finding| {
        finding.condition == ConditionType::Draining && finding.reason() == Reason::DrainBlocked
    });
    let blocking = summary::blocking(&plan.findings);
    of(paused.or(drain).or(blocking)?.reason())
}

/// Whom or what a reason names that is waited for.
fn of(reason: Reason) -> Option<Awaited> {
    Some(match reason {
        Reason::WaitingForTurn => Awaited::Turn,
        Reason::Paused => Awaited::Pause,
        Reason::DrainBlocked => Awaited::Budget,
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
