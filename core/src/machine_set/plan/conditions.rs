//! The conditions of a MachineSet. Names are those of Cluster API.

use super::super::observed::{Observed, ObservedMachine};
use super::{Action, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::api::names::ANNOTATION_DISABLE_CREATE;
use crate::trouble;

const SCALING_UP: ConditionType = ConditionType::ScalingUp;
const SCALING_DOWN: ConditionType = ConditionType::ScalingDown;
const MACHINES_READY: ConditionType = ConditionType::MachinesReady;
const READY: ConditionType = ConditionType::Ready;
const PAUSED: ConditionType = ConditionType::Paused;

/// The selector cannot be used, so nothing is known and nothing is done.
pub fn invalid(observed: &Observed, problem: &str) -> Vec<Finding> {
    let invalid = |name| Finding::no(name, Reason::InvalidConfiguration, problem);
    vec![paused(observed), invalid(MACHINES_READY), invalid(READY)]
}

/// What is true of the set.
pub fn findings(observed: &Observed, plan: &Plan, mine: &[&ObservedMachine]) -> Vec<Finding> {
    let up = scaling_up(observed, plan);
    let machines = machines_ready(plan, observed, mine);
    let ready = ready(observed, &up, &machines);
    vec![
        paused(observed),
        up,
        scaling_down(observed, plan, mine),
        machines,
        ready,
    ]
}

/// It has the Machines that it shall have, and all are ready. One that is being deleted does not
/// count, as in a Deployment.
fn ready(observed: &Observed, up: &Finding, machines: &Finding) -> Finding {
    if observed.deleting {
        return Finding::no(READY, Reason::Deleting, "the MachineSet is being deleted");
    }
    // what keeps Machines from being made comes before what those say that are there
    let is_held = up.status == Status::True && up.reason() != Reason::CreatingMachines;
    let why = if is_held { up } else { machines };
    Finding {
        condition: READY,
        status: machines.status,
        ..why.clone()
    }
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
            "{scale}; the annotation {ANNOTATION_DISABLE_CREATE} prevents the set from creating more"
        );
        return Finding::yes(SCALING_UP, Reason::CreationDisabled, message);
    }
    // not their names: these are chosen anew with each try, and a refusal may last
    Finding::yes(SCALING_UP, Reason::CreatingMachines, scale)
}

fn scaling_down(observed: &Observed, plan: &Plan, mine: &[&ObservedMachine]) -> Finding {
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
            trouble::beside(format!("{leaving} in deletion"), worst(mine, true)),
        ),
    }
}

/// The most urgent trouble of the Machines that stay, or of those that are being deleted.
fn worst(mine: &[&ObservedMachine], leaving: bool) -> Option<String> {
    let of = mine
        .iter()
        .filter(|machine| machine.deleting.is_some() == leaving);
    trouble::worst(of.filter_map(|machine| machine.trouble.as_ref()))
}

/// Of Machines that are Ready, what a person should look at: an update that fails. Its deployment
/// is woken by these words.
fn failing(mine: &[&ObservedMachine]) -> Option<String> {
    let stay = mine.iter().filter(|machine| machine.deleting.is_none());
    let troubles = stay.filter_map(|machine| machine.trouble.as_ref());
    trouble::worst(troubles.filter(|trouble| trouble.is_warning()))
}

fn machines_ready(plan: &Plan, observed: &Observed, mine: &[&ObservedMachine]) -> Finding {
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
        return Finding::yes(
            MACHINES_READY,
            Reason::AllReady,
            trouble::beside(message, failing(mine)),
        );
    }
    let reason = if counts.unhealthy > 0 {
        Reason::UnhealthyMachines
    } else {
        Reason::WaitingForMachines
    };
    Finding::no(
        MACHINES_READY,
        reason,
        trouble::beside(message, worst(mine, false)),
    )
}

/// The first few names, and how many more there are.
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
