//! A Machine that is longer in a stage, or at a step of its update, than that ever takes, although nothing is waited for that is
//! known. One rule for all.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Plan, summary};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason, Severity};
use crate::api::machine_stage::{
    Awaited, ChangeKind, ChangeStep, Clock, ReportedChange, ReportedStage, StageName,
};
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

const fn limit_of_step(step: ChangeStep) -> Duration {
    Duration::from_mins(match step {
        ChangeStep::AwaitGrant | ChangeStep::Proving => 15,
        ChangeStep::Upgrade | ChangeStep::Kubelet => 30,
        ChangeStep::Images | ChangeStep::Drain => 60,
    })
}

/// The stage as it is reported, with its clock. Of a Machine whose stage is not known in this pass, the one that was known last.
pub fn clock(plan: &Plan, before: Option<&ReportedStage>, now: Timestamp) -> Option<ReportedStage> {
    let awaited = awaited(plan);
    match (plan.stage, before) {
        (Some(name), Some(before)) if before.name != name.as_str() => {
            Some(ReportedStage::entered(name, awaited, now))
        }
        (Some(name), None) => Some(ReportedStage::entered(name, awaited, now)),
        (_, Some(before)) => Some(ReportedStage {
            name: before.name.clone(),
            clock: before.clock.awaiting(awaited, now),
        }),
        (None, None) => None,
    }
}

/// The update as it is reported, with the clock of its step: of one that was begun on the host, or waits for the turn.
pub fn change(
    plan: &Plan,
    before: Option<&ReportedChange>,
    begun: bool,
    now: Timestamp,
) -> Option<ReportedChange> {
    if !begun && plan.change.is_none() {
        return None;
    }
    let awaited = awaited_by_change(plan);
    let step = plan.change.map(|step| step.to_string());
    let same = before.filter(|before| step.is_none() || step == before.step);
    Some(match same {
        Some(same) => ReportedChange {
            begun,
            clock: same.clock.awaiting(awaited, now),
            ..same.clone()
        },
        None => ReportedChange {
            kind: ChangeKind::Update.to_string(),
            step,
            begun,
            clock: Clock::begun(awaited, now),
        },
    })
}

/// Adds that its stage, or its update, is stuck, or looks again when it would be.
pub(super) fn report(observed: &Observed, plan: &mut Plan, now: Timestamp) {
    let told = observed.machine.status.as_ref();
    let stage = clock(plan, told.and_then(|status| status.stage.as_ref()), now);
    if let (Some(name), Some(stage)) = (plan.stage, stage) {
        let what = summary::blocking(&plan.findings).map(Finding::message);
        let late = late(plan, &stage.clock, limit(name), now);
        if let Some(minutes) = late {
            let said = format!("stage {name} takes longer than {minutes} minutes");
            return add(plan, &said, what, &remedy(observed, name));
        }
    }
    let begun = plan
        .findings
        .iter()
        .find(|found| found.condition == ConditionType::Updating);
    let what = begun.map(Finding::message);
    let before = told.and_then(|status| status.change.as_ref());
    let change = change(plan, before, what.is_some(), now);
    if let (Some(step), Some(change)) = (plan.change, change)
        && let Some(minutes) = late(plan, &change.clock, Some(limit_of_step(step)), now)
    {
        let said = format!("step {step} of its update takes longer than {minutes} minutes");
        add(plan, &said, what, &remedy(observed, StageName::Joining));
    }
}

/// The minutes of the limit, where it has passed; else it is looked at again by then.
fn late(plan: &mut Plan, clock: &Clock, limit: Option<Duration>, now: Timestamp) -> Option<u64> {
    let limit = limit.filter(|_| clock.waits_for.is_none())?;
    match limit
        .checked_sub(clock.worked(now))
        .filter(|left| !left.is_zero())
    {
        Some(left) => {
            plan.next = plan.next.sooner(Next::After(left));
            None
        }
        None => Some(limit.as_secs() / 60),
    }
}

fn add(plan: &mut Plan, said: &str, what: Option<String>, remedy: &str) {
    let what = what.filter(|what| !what.is_empty());
    let what = what.map_or(String::new(), |what| format!(": {what}"));
    let message = format!("{said}{what}. {remedy}");
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

/// The same of its update, by the condition that tells of it.
fn awaited_by_change(plan: &Plan) -> Option<Awaited> {
    let said = |name| plan.findings.iter().find(|found| found.condition == name);
    let paused = said(ConditionType::Paused).filter(|found| found.reason() == Reason::Paused);
    let drain = said(ConditionType::Draining).filter(|f| f.reason() == Reason::DrainBlocked);
    let told = said(ConditionType::Updating).or_else(|| said(ConditionType::UpToDate));
    of(paused.or(drain).or(told)?.reason())
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
