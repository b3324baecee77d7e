//! What a plan found, as the status of the MachineDeployment. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use crate::api::conditions::{self, ConditionType, Finding, Reason};
use crate::api::{MachineDeployment, MachineDeploymentStatus};
use crate::status_write::{CALM, WORDS, due};

/// For how long numbers on the way are held back: sets write theirs one after the other. Longer,
/// and the status is older than the benchmarks permit; not at all, and a roll costs more writes
/// than they do.
const NUMBERS: Duration = Duration::from_millis(300);

/// For how long a status is held back. Words that quote a warning of a Machine wait as long as
/// progress.
pub fn holds_back(
    old: &MachineDeploymentStatus,
    new: &MachineDeploymentStatus,
    plan: &Plan,
) -> Duration {
    // the next pass counts its deadline from there, and would count it from before an edit
    let is_anew = old.work_since.is_some() && old.work_since != new.work_since;
    // the scale subresource, and with it an autoscaler, reads the selector
    let is_read = is_anew || old.label_selector != new.label_selector;
    // `rollout status` waits until an edit was seen
    let is_read = is_read || old.observed_generation != new.observed_generation;
    // also where the last one is over
    let warns = plan.warns || !old.whys.is_empty();
    let time = due(old, new, is_read, if warns { CALM } else { WORDS });
    if numbers(old) == numbers(new) {
        time
    } else {
        time.min(NUMBERS)
    }
}

fn numbers(status: &MachineDeploymentStatus) -> MachineDeploymentStatus {
    MachineDeploymentStatus {
        phase: None,
        conditions: Vec::new(),
        whys: Vec::new(),
        ..status.clone()
    }
}

/// Whether a finding is published as an Event. Of Machines that it waits for without a rollout, and
/// of the end of that, they tell themselves.
pub fn is_news(old: &MachineDeploymentStatus, finding: &Finding) -> bool {
    let is_wait = finding.reason() == Reason::WaitingForMachines;
    let ends_wait = finding.reason() == Reason::Complete
        && conditions::reason_of(&old.conditions, finding.condition)
            == Some(Reason::WaitingForMachines)
        && !was_told(old);
    !is_wait && !ends_wait && conditions::is_news(&old.conditions, finding)
}

/// Whether it rolled, or made no progress, since it was Ready.
fn was_told(status: &MachineDeploymentStatus) -> bool {
    let since = |type_| {
        let condition = conditions::find(&status.conditions, type_);
        condition.map(|condition| condition.last_transition_time.0)
    };
    let unready = since(ConditionType::Ready);
    let told = [ConditionType::RollingOut, ConditionType::Progressing];
    told.into_iter().any(|type_| since(type_) > unready)
}

/// The status that follows from a plan.
pub fn status(deployment: &MachineDeployment, plan: &Plan) -> MachineDeploymentStatus {
    MachineDeploymentStatus {
        replicas: plan.counts.replicas,
        updated_replicas: plan.counts.updated,
        ready_replicas: plan.counts.ready,
        available_replicas: plan.counts.available,
        unavailable_replicas: plan.counts.unavailable,
        label_selector: plan.label_selector.clone(),
        work_since: plan.work_since.map(Time),
        phase: Some(plan.phase.as_str().into()),
        ..deployment.status.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::conditions::{ConditionType, Reason, merge};

    #[test]
    fn an_end_is_written_at_once_and_numbers_wait_less_than_words() {
        let says = |reason, message: &str| Plan {
            findings: vec![Finding::no(ConditionType::Ready, reason, message)],
            ..Plan::default()
        };
        let with = |plan: &Plan, replicas, phase: &str| MachineDeploymentStatus {
            replicas,
            phase: Some(phase.into()),
            conditions: merge(&[], &plan.findings, Some(1), Timestamp::UNIX_EPOCH),
            ..MachineDeploymentStatus::default()
        };
        let waits = says(Reason::WaitingForMachines, "1 Machines without a Node yet");
        let later = says(Reason::WaitingForMachines, "Machine m: NodeNotReady");
        let warning = says(Reason::InvalidConfiguration, "no such MachineClass");
        let ends = Plan {
            findings: vec![Finding::yes(ConditionType::Ready, Reason::Complete, "")],
            ..Plan::default()
        };
        let now = Duration::ZERO;
        let old = with(&waits, 2, "ScalingUp");
        let begun = MachineDeploymentStatus {
            work_since: Some(Time(Timestamp::UNIX_EPOCH)),
            ..with(&later, 2, "ScalingUp")
        };
        for (case, plan, new, expected) in [
            ("words", &later, with(&later, 2, "Running"), WORDS),
            ("numbers", &later, with(&later, 3, "ScalingUp"), NUMBERS),
            (
                "its deadline counts from here",
                &later,
                begun.clone(),
                NUMBERS,
            ),
            ("the end", &ends, with(&ends, 3, "Running"), now),
            ("a warning", &warning, with(&warning, 2, "ScalingUp"), now),
        ] {
            assert_eq!(holds_back(&old, &new, plan), expected, "{case}");
        }
        let anew = MachineDeploymentStatus {
            work_since: Some(Time(Timestamp::from_second(9).expect("a time"))),
            ..begun.clone()
        };
        assert_eq!(holds_back(&begun, &anew, &later), now, "an edit");
        let first = MachineDeploymentStatus::default();
        let selected = MachineDeploymentStatus {
            label_selector: Some("pool=a".into()),
            ..first.clone()
        };
        assert_eq!(holds_back(&first, &selected, &later), now, "its selector");
    }

    #[test]
    fn a_rollout_is_told_and_a_few_machines_more_are_not() {
        let of = |finding: Finding| MachineDeploymentStatus {
            conditions: merge(&[], &[finding], Some(1), Timestamp::UNIX_EPOCH),
            ..MachineDeploymentStatus::default()
        };
        let ready = Finding::yes(ConditionType::Ready, Reason::Complete, "all 3 Machines");
        let waits = Finding::no(ConditionType::Ready, Reason::WaitingForMachines, "2 of 3");
        let rolls = Finding::no(ConditionType::Ready, Reason::RollingOut, "1 of 3");
        let invalid = Finding::no(ConditionType::Ready, Reason::InvalidConfiguration, "no");
        for (old, new, expected) in [
            (&ready, &waits, false),
            (&waits, &ready, false),
            (&invalid, &ready, true),
            (&ready, &rolls, true),
            (&rolls, &ready, true),
            (&ready, &ready, false),
        ] {
            let told = is_news(&of(old.clone()), new);
            assert_eq!(told, expected, "{} to {}", old.reason(), new.reason());
        }
        // it rolled, and waited for the last ones then
        let ended = Finding::no(ConditionType::RollingOut, Reason::NotRollingOut, "");
        let later = Timestamp::from_second(9).expect("a time");
        let mut waited = of(waits);
        waited.conditions = merge(&waited.conditions, &[ended], Some(1), later);
        assert!(is_news(&waited, &ready));
    }
}
