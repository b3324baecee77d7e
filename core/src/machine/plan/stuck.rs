//! A Machine that is longer in a stage, or at a step of its update, than that ever takes, although
//! nothing is waited for that is known. One rule for all.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::Observed;
use super::{Plan, awaited, summary};
use crate::Next;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::machine_stage::{
    ChangeKind, ChangeStep, Clock, ReportedChange, ReportedStage, StageName,
};
use crate::remedy;

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
        StageName::Initialising | StageName::Joining => 30,
        // an image is fetched over any network
        StageName::Creating => 120,
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

/// The stage as it is reported, with its clock. Of a Machine whose stage is not known in this pass,
/// the one that was known last.
pub fn clock(
    observed: &Observed,
    plan: &Plan,
    before: Option<&ReportedStage>,
    now: Timestamp,
) -> Option<ReportedStage> {
    let awaited = awaited::by_stage(observed, plan);
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

/// The update as it is reported, with the clock of its step: of one that was begun on the host, or
/// waits for the turn.
pub fn change(
    observed: &Observed,
    plan: &Plan,
    before: Option<&ReportedChange>,
    begun: bool,
    now: Timestamp,
) -> Option<ReportedChange> {
    if !begun && plan.change.is_none() {
        return None;
    }
    let awaited = awaited::by_change(observed, plan);
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
    let stage = clock(
        observed,
        plan,
        told.and_then(|status| status.stage.as_ref()),
        now,
    );
    if let (Some(name), Some(stage)) = (plan.stage, stage) {
        let what = summary::blocking(&plan.findings).map(Finding::message);
        let late = late(observed, plan, &stage.clock, limit(name), now);
        if let Some(minutes) = late {
            let said = format!("stage {name} takes longer than {minutes} minutes");
            return add(plan, &said, what, &look(observed, name));
        }
    }
    let begun = plan
        .findings
        .iter()
        .find(|found| found.condition == ConditionType::Updating);
    let what = begun.map(Finding::message);
    let before = told.and_then(|status| status.change.as_ref());
    let change = change(observed, plan, before, what.is_some(), now);
    if let (Some(step), Some(change)) = (plan.change, change)
        && let Some(minutes) = late(
            observed,
            plan,
            &change.clock,
            Some(limit_of_step(step)),
            now,
        )
    {
        let said = format!("step {step} of its update takes longer than {minutes} minutes");
        add(plan, &said, what, &look_of_step(observed, step));
    }
}

/// The minutes of the limit, where it has passed; else it is looked at again by then.
fn late(
    observed: &Observed,
    plan: &mut Plan,
    clock: &Clock,
    limit: Option<Duration>,
    now: Timestamp,
) -> Option<u64> {
    let limit = limit.filter(|_| clock.waits_for.is_none())?;
    // nothing was done while no manager ran
    let here = now.duration_since(observed.started_at);
    let worked = clock.worked(now).min(here.try_into().unwrap_or_default());
    match limit.checked_sub(worked).filter(|left| !left.is_zero()) {
        Some(left) => {
            plan.late = plan.late.sooner(Next::After(left));
            None
        }
        None => Some(limit.as_secs() / 60),
    }
}

fn add(plan: &mut Plan, said: &str, what: Option<String>, look: &str) {
    let what = what.unwrap_or_default();
    let what = what.lines().next().unwrap_or_default();
    let what = match what.trim_end_matches('.') {
        "" => String::new(),
        what => format!(": {what}"),
    };
    let reason = Reason::ProgressDeadlineExceeded;
    let finding = Finding::no(ConditionType::Progressing, reason, format!("{said}{what}."));
    plan.findings.push(finding.remedied(look));
}

/// What shows what is done in a stage.
fn look(observed: &Observed, stage: StageName) -> String {
    let (namespace, machine) = (&observed.marker.namespace, &observed.marker.machine);
    let host = observed.held().map_or("HOST", |held| held.name.as_str());
    match stage {
        StageName::Preparing
        | StageName::Initialising
        | StageName::Joining
        | StageName::Finishing => logs(observed),
        StageName::Registering => kubelet(observed),
        StageName::Releasing => format!(
            "What its reset waits for: {}",
            remedy::conditions("host", namespace, host)
        ),
        _ => format!(
            "What happened: {}",
            remedy::machine::events(namespace, machine)
        ),
    }
}

fn look_of_step(observed: &Observed, step: ChangeStep) -> String {
    match step {
        ChangeStep::Images | ChangeStep::Upgrade | ChangeStep::Kubelet => logs(observed),
        ChangeStep::Proving => kubelet(observed),
        ChangeStep::AwaitGrant | ChangeStep::Drain => look(observed, StageName::Running),
    }
}

fn kubelet(observed: &Observed) -> String {
    let address = observed.held().and_then(|held| held.address.as_deref());
    let at = address.map_or_else(|| "its server".into(), |at| format!("its server ({at})"));
    format!("On {at}, the kubelet says why: journalctl -u kubelet")
}

fn logs(observed: &Observed) -> String {
    let marker = &observed.marker;
    let logs = remedy::logs(&marker.namespace, &marker.machine, None);
    format!("What its steps say: {logs}")
}
