//! The conditions of a MachineSet. Names are those of Cluster API.

use super::super::observed::Observed;
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::ANNOTATION_DISABLE_CREATE;

const SCALING_UP: ConditionType = ConditionType::ScalingUp;
const SCALING_DOWN: ConditionType = ConditionType::ScalingDown;
const READY: ConditionType = ConditionType::MachinesReady;
const PAUSED: ConditionType = ConditionType::Paused;

/// The selector cannot be used, so nothing is known and nothing is done.
pub fn invalid(problem: String) -> Vec<Finding> {
    vec![Finding::no(READY, Reason::InvalidConfiguration, problem)]
}

/// What is true of the set.
pub fn findings(observed: &Observed, plan: &Plan) -> Vec<Finding> {
    vec![
        paused(observed),
        scaling_up(observed, plan),
        scaling_down(observed, plan),
        ready(plan, observed),
    ]
}

fn paused(observed: &Observed) -> Finding {
    match &observed.paused_by {
        Some(object) => Finding::yes(
            PAUSED,
            Reason::Paused,
            format!("{object} has the annotation cluster.k8s.io/paused"),
        ),
        None => Finding::no(PAUSED, Reason::NotPaused, ""),
    }
}

fn scaling_up(observed: &Observed, plan: &Plan) -> Finding {
    let (have, wanted) = (plan.counts.replicas, observed.replicas);
    if have >= wanted || observed.deleting {
        return Finding::no(SCALING_UP, Reason::NotScalingUp, "");
    }
    let scale = format!("{have} Machines < {wanted} spec.replicas");
    if observed.paused_by.is_some() {
        return Finding::yes(SCALING_UP, Reason::Paused, scale);
    }
    if let Some(gate) = &observed.gate {
        return Finding::yes(
            SCALING_UP,
            gate.reason,
            format!("{scale}; {}", gate.message),
        );
    }
    if observed.creation_disabled() {
        let message = format!(
            "{scale}; the annotation {ANNOTATION_DISABLE_CREATE} keeps the set from making more"
        );
        return Finding::yes(SCALING_UP, Reason::CreationDisabled, message);
    }
    // not their names: these are chosen anew with each try, and a refusal may last
    Finding::yes(SCALING_UP, Reason::CreatingMachines, scale)
}

fn scaling_down(observed: &Observed, plan: &Plan) -> Finding {
    let victims: Vec<String> = plan
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Delete { name, because, .. } => Some(format!("{name} ({because})")),
            _ => None,
        })
        .collect();
    let (have, wanted) = (plan.counts.replicas, observed.replicas);
    if !victims.is_empty() {
        let message = format!("deleting {}", listed(victims.iter().map(String::as_str)));
        return Finding::yes(SCALING_DOWN, Reason::DeletingMachines, message);
    }
    if have > wanted && !observed.deleting {
        return Finding::yes(
            SCALING_DOWN,
            Reason::Paused,
            format!("{have} Machines > {wanted} spec.replicas"),
        );
    }
    match plan.counts.deleting {
        0 => Finding::no(SCALING_DOWN, Reason::NotScalingDown, ""),
        leaving => Finding::yes(
            SCALING_DOWN,
            Reason::WaitingForDeletion,
            format!("{leaving} in deletion"),
        ),
    }
}

fn ready(plan: &Plan, observed: &Observed) -> Finding {
    let counts = &plan.counts;
    let mut message = format!("{}/{} ready", counts.ready, observed.replicas);
    for (count, what) in [
        (counts.unhealthy, "unhealthy"),
        (counts.starting, "without a Node yet"),
    ] {
        if count > 0 {
            message = format!("{message}, {count} {what}");
        }
    }
    if counts.ready == counts.replicas && counts.replicas == observed.replicas {
        Finding::yes(READY, Reason::AllReady, message)
    } else if counts.unhealthy > 0 {
        Finding::no(READY, Reason::UnhealthyMachines, message)
    } else {
        Finding::no(READY, Reason::WaitingForMachines, message)
    }
}

/// The first few, and how many more: five hundred names help nobody.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}
