//! The conditions of a MachineDeployment. Names are those of Cluster API, and
//! `Progressing` of Kubernetes' Deployment.

use super::super::observed::{Observed, has_control_plane};
use super::phase::{Phase, phase};
use super::roll::{Roll, Target, Targets};
use super::sets::is_complete;
use super::{Action, Plan, SetUpdate, StatusCounts};
use crate::api::conditions::{ConditionType, Finding, Reason, Severity, Status};
use crate::api::machine_deployment::StrategyType;
use crate::api::names::{ANNOTATION_DISABLE_CREATE, ANNOTATION_PAUSED};
use crate::remedy;
use crate::words::counted;

const AVAILABLE: ConditionType = ConditionType::Available;
const PROGRESSING: ConditionType = ConditionType::Progressing;
const ROLLING_OUT: ConditionType = ConditionType::RollingOut;
const READY: ConditionType = ConditionType::Ready;
const PAUSED: ConditionType = ConditionType::Paused;

/// The spec cannot be used, so nothing is done.
pub fn invalid(observed: &Observed, problem: &str) -> (Phase, Vec<Finding>) {
    (
        Phase::Failed,
        vec![
            paused(observed),
            Finding::no(PROGRESSING, Reason::InvalidConfiguration, problem),
            Finding::no(READY, Reason::InvalidConfiguration, problem),
        ],
    )
}

/// Fills in what people read.
pub fn report(roll: &Roll, targets: &Targets, plan: &mut Plan) {
    plan.counts = counts(roll);
    let progressing = progressing(roll, targets, &plan.actions);
    plan.phase = phase(roll, targets, &progressing);
    let complete = is_complete(roll, targets);
    plan.work_since = Some(roll.since).filter(|_| roll.free && roll.gate.is_none() && !complete);
    let settled = complete || targets.changes() || roll.stalled;
    plan.wake_at = roll.deadline.filter(|_| !settled);
    let rolling_out = rolling_out(roll);
    let ready = ready(roll, complete, &rolling_out, &progressing);
    plan.findings = vec![
        available(roll, &plan.counts),
        rolling_out,
        progressing,
        paused(roll.observed),
        ready,
    ];
}

/// All Machines are available and of the current template. Until then the reason is the same from
/// step to step.
fn ready(roll: &Roll, is_complete: bool, rolling_out: &Finding, progressing: &Finding) -> Finding {
    let message = progressing.message();
    if progressing.status != Status::True {
        Finding::no(READY, progressing.reason(), message)
    } else if is_complete {
        Finding::yes(READY, Reason::Complete, message)
    } else if let Some(gate) = roll.gate {
        Finding::no(READY, gate.reason, message)
    } else if rolling_out.status == Status::True {
        Finding::no(READY, Reason::RollingOut, message)
    } else {
        Finding::no(READY, Reason::WaitingForMachines, message)
    }
}

fn counts(roll: &Roll) -> StatusCounts {
    let sum = |count: fn(&super::super::observed::Counts) -> i32| -> i32 {
        roll.sets().map(|set| count(&set.counts)).sum()
    };
    let available = sum(|counts| counts.available);
    StatusCounts {
        replicas: sum(|counts| counts.current),
        updated: roll.current.map_or(0, |set| set.counts.current),
        ready: sum(|counts| counts.ready),
        available,
        unavailable: (roll.replicas() - available).max(0),
    }
}

fn available(roll: &Roll, counts: &StatusCounts) -> Finding {
    let (have, replicas, minimum) = (counts.available, roll.replicas(), roll.min_available());
    let text = |sign: &str| {
        let missing = roll.limits.unavailable;
        let raised = if roll.limits.raised {
            "; maxSurge and maxUnavailable round to 0 for so few replicas, so one Machine may be missing"
        } else {
            ""
        };
        format!(
            "{} {sign} {minimum} required ({replicas} spec.replicas − {missing} maxUnavailable{raised})",
            counted(have, "available replica")
        )
    };
    if have >= minimum {
        Finding::yes(AVAILABLE, Reason::MinimumReplicasAvailable, text("≥"))
    } else {
        Finding::no(AVAILABLE, Reason::MinimumReplicasUnavailable, text("<"))
    }
}

fn rolling_out(roll: &Roll) -> Finding {
    let old: Vec<String> = roll
        .old
        .iter()
        .filter(|set| set.is_active())
        .map(|set| {
            format!(
                "{} ({})",
                set.name,
                counted(set.counts.current + set.counts.deleting, "Machine")
            )
        })
        .collect();
    if old.is_empty() {
        return Finding::no(ROLLING_OUT, Reason::NotRollingOut, "");
    }
    let new = roll.current.map_or(0, |set| set.counts.available);
    let text = format!(
        "{new}/{} Machines of the current template are available; old MachineSets: {}",
        roll.replicas(),
        old.join(", ")
    );
    Finding::yes(ROLLING_OUT, Reason::RollingOut, text)
}

/// What is done now and why, before it is done; else what is waited for.
fn progressing(roll: &Roll, targets: &Targets, actions: &[Action]) -> Finding {
    if let Err(problem) = &roll.observed.provider_spec {
        return problem.finding(PROGRESSING);
    }
    if roll.observed.deleting {
        return Finding::no(
            PROGRESSING,
            Reason::Deleting,
            "the MachineDeployment is being deleted",
        );
    }
    let steps = steps(roll, actions);
    let complete = is_complete(roll, targets);
    if let Some(others) = other_versions(roll).filter(|_| complete) {
        return Finding::no(PROGRESSING, Reason::KubeletVersionDiffers, others);
    }
    if complete {
        let all = match roll.replicas() {
            1 => "its only Machine is available and has the current template".into(),
            all => format!("all {all} Machines are available and have the current template"),
        };
        // what it does not adopt
        let told = targets.waiting.iter().cloned();
        let told = told.filter(|_| has_control_plane(&roll.observed.template));
        let text = [all]
            .into_iter()
            .chain(steps)
            .chain(number_of_members(roll))
            .chain(told)
            .collect::<Vec<_>>()
            .join("; ");
        return Finding::yes(PROGRESSING, Reason::Complete, text);
    }
    if !steps.is_empty() {
        return Finding::yes(PROGRESSING, Reason::MachineSetUpdated, steps.join("; "));
    }
    if let Some(why) = &targets.refused {
        return why.finding(PROGRESSING);
    }
    if let Some(object) = &roll.observed.paused_by {
        let held = held(roll.observed, object);
        return Finding::no(PROGRESSING, Reason::Paused, held);
    }
    let waiting = waiting(roll, targets);
    if roll.observed.paused {
        return Finding::no(PROGRESSING, Reason::Paused, waiting);
    }
    if let Some(gate) = roll.gate {
        return match gate.reason.severity() {
            Severity::Normal => Finding::yes(PROGRESSING, gate.reason, waiting),
            Severity::Warning => Finding::no(PROGRESSING, gate.reason, waiting),
        };
    }
    if roll.stalled {
        let limit = roll.observed.progress_deadline_seconds;
        let text = format!("no progress for {limit} s (spec.progressDeadlineSeconds): {waiting}");
        return Finding::no(PROGRESSING, Reason::ProgressDeadlineExceeded, text);
    }
    Finding::yes(PROGRESSING, Reason::WaitingForMachines, waiting)
}

/// Of the current template, but not of its versions: replaced on the host, or unknown to a backup
/// that was restored.
fn other_versions(roll: &Roll) -> Option<String> {
    let current = roll.current?;
    let others = match current.other_versions {
        0 => return None,
        1 => "1 Machine runs".to_owned(),
        others => format!("{others} Machines run"),
    };
    let says = current.says.as_deref().unwrap_or_default();
    Some(format!(
        "all are available, but {others} other versions than the current template wants, and nothing brings them to it. {says}"
    ))
}

/// What is odd about the number of control planes.
fn number_of_members(roll: &Roll) -> Option<String> {
    let observed = roll.observed;
    match (observed.is_control_plane(), observed.replicas) {
        (true, ..1) if roll.replicas() > 0 => Some(
            "spec.replicas is 0, and the last control plane stays: it goes with its Cluster".into(),
        ),
        (true, even) if even > 0 && even % 2 == 0 => Some(format!(
            "{even} control planes tolerate no more failures than {}: use an odd number",
            even - 1
        )),
        _ => None,
    }
}

/// Everything that is about to be done, each with its reasons. Bookkeeping on sets goes without.
fn steps(roll: &Roll, actions: &[Action]) -> Vec<String> {
    let describe = |action: &Action| match action {
        Action::AdoptSet { name, .. } => Some(format!(
            "adopting MachineSet {name} of an earlier MachineDeployment of this name"
        )),
        Action::AdoptMachine { name, set, .. } => {
            Some(format!("adopting Machine {name} into MachineSet {set}"))
        }
        Action::CreateSet(new) => {
            let reasons = new.because.join("; ");
            Some(format!(
                "new MachineSet {} with {}: {reasons}",
                new.name,
                counted(new.replicas, "Machine")
            ))
        }
        Action::UpdateSet(update) => {
            let current = roll.current.is_some_and(|set| set.name == update.name);
            let which = if current { "current" } else { "old" };
            let what = update_text(roll, update)?;
            Some(format!("{which} MachineSet {} {what}", update.name))
        }
        Action::DeleteSet { name, because, .. } => {
            Some(format!("deleting MachineSet {name}: {because}"))
        }
    };
    actions.iter().filter_map(describe).collect()
}

fn update_text(roll: &Roll, update: &SetUpdate) -> Option<String> {
    if let Some((from, to)) = update.replicas {
        return Some(format!(
            "from {from} to {to}: {}",
            update.because.join(", ")
        ));
    }
    let disabled = update
        .annotations
        .get(ANNOTATION_DISABLE_CREATE)
        .is_some_and(Option::is_some);
    if disabled {
        let strategy = roll.observed.strategy.type_;
        return Some(match (strategy, roll.observed.is_control_plane()) {
            (StrategyType::RollingUpdate, true) => {
                "creates no more Machines: what it lacks is created from the current template"
                    .into()
            }
            _ => format!("creates no more Machines: spec.strategy is {strategy:?}"),
        });
    }
    let in_place = update.template.is_some() || update.min_ready_seconds.is_some();
    in_place.then(|| "is updated in place".into())
}

/// What is waited for: what a Machine says first, then the arithmetic. What keeps all from rolling
/// comes before both.
fn waiting(roll: &Roll, targets: &Targets) -> String {
    let sum = |count: fn(&Target) -> i32| -> i32 { targets.all().map(count).sum() };
    let mut arithmetic = targets.waiting.clone();
    arithmetic.extend(
        roll.lagging()
            .map(|set| format!("waiting for MachineSet {} to count its Machines", set.name)),
    );
    for (count, what) in [
        (sum(Target::missing), "to be created"),
        (sum(|t| t.counts.starting), "without a Node yet"),
        (sum(|t| t.counts.unhealthy), "unhealthy"),
        (sum(|t| t.counts.deleting), "in deletion"),
    ] {
        match count {
            ..=0 => (),
            _ => arithmetic.push(format!("{} {what}", counted(count, "Machine"))),
        }
    }
    // the current set first: it is what a roll waits for
    let sets = roll.current.into_iter().chain(roll.old.iter().copied());
    let says = sets
        .filter(|set| !set.lagging)
        .find_map(|set| set.says.clone());
    let held = roll.sets().filter(|set| !set.lagging).find_map(|set| {
        let why = set.held.as_ref()?;
        Some(format!("MachineSet {}: {why}", set.name))
    });
    let said = [needs_host(roll), says, held].into_iter().flatten();
    let waiting: Vec<String> = if roll.free && roll.gate.is_none() {
        said.chain(arithmetic).collect()
    } else {
        arithmetic.into_iter().chain(said).collect()
    };
    if waiting.is_empty() {
        "waiting for Machines to become available".into()
    } else {
        waiting.join("; ")
    }
}

/// A roll with surge alone stands still where its first new Machine finds no Host: what that needs,
/// or what else may be set.
fn needs_host(roll: &Roll) -> Option<String> {
    let current = roll.current.filter(|set| set.lacks_host && !set.lagging)?;
    let replaces = roll.old.iter().any(|set| set.counts.current > 0);
    let in_place = roll.observed.strategy.type_ == StrategyType::InPlace;
    if !replaces || in_place || roll.limits.surge == 0 || roll.limits.unavailable > 0 {
        return None;
    }
    let missing = current.counts.wanted - current.counts.ready;
    let or = match (roll.observed.is_control_plane(), roll.replicas()) {
        (true, ..=2) => "strategy InPlace",
        (true, _) => "rollingUpdate.maxSurge 0 with maxUnavailable 1",
        (false, _) => "rollingUpdate.maxUnavailable of 1 or more",
    };
    Some(format!(
        "the roll needs {} for its new Machines, or {or}",
        counted(missing, "more free Host")
    ))
}

/// Which object holds it still, and the command that lets it go on.
fn held(observed: &Observed, object: &str) -> String {
    let (kind, name) = object.split_once(' ').unwrap_or((object, "NAME"));
    format!(
        "{object} has the annotation {ANNOTATION_PAUSED}, so nothing is done; to go on: {}",
        remedy::resume(&kind.to_lowercase(), &observed.namespace, name)
    )
}

fn paused(observed: &Observed) -> Finding {
    match (&observed.paused_by, observed.paused) {
        (Some(object), _) => {
            Finding::yes(PAUSED, Reason::PausedByAnnotation, held(observed, object))
        }
        (None, true) => Finding::yes(
            PAUSED,
            Reason::PausedBySpec,
            "spec.paused is true: scaling continues, rolling does not",
        ),
        (None, false) => Finding::no(PAUSED, Reason::NotPaused, ""),
    }
}
