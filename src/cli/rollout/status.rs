//! Follows a rollout.

use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use kube::ResourceExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;

use super::{Error, Subject, paused_by_annotation, say};
use tatara_core::api::MachineDeployment;
use tatara_core::api::conditions::{ConditionType, Status, find};
use tatara_core::api::reason::Reason;

/// Where a rollout stands.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// All Machines have the template, and are available.
    Complete(String),
    /// It is under way.
    Underway(String),
    /// It goes on only when a person acts.
    Stalled(String),
}

/// Prints where a rollout stands, and each change, until it is complete.
pub(super) async fn follow(
    subject: &Subject,
    watch: bool,
    limit: Option<Duration>,
) -> Result<(), Error> {
    let of = &subject.of;
    if !watch {
        return match standing(&subject.deployment) {
            Standing::Complete(said) => say(&format!("{of}: {said}")),
            Standing::Underway(why) => Err(Error::Incomplete {
                of: of.clone(),
                why,
            }),
            Standing::Stalled(why) => Err(Error::Stalled {
                of: of.clone(),
                why,
            }),
        };
    }
    let mut last = String::new();
    let following = until_complete(subject, &mut last);
    let Some(limit) = limit else {
        return following.await;
    };
    match tokio::time::timeout(limit, following).await {
        Ok(done) => done,
        Err(_) => Err(Error::TooLate {
            of: of.clone(),
            after: limit,
            why: last,
        }),
    }
}

async fn until_complete(subject: &Subject, last: &mut String) -> Result<(), Error> {
    let of = &subject.of;
    let watch = watch_object(subject.api(), &of.name).default_backoff();
    let mut states = pin!(watch);
    loop {
        let state = states.try_next().await;
        let state = match state {
            Ok(state) => state.flatten(),
            Err(error) => {
                let error = subject.caller.explain_watch::<MachineDeployment>(error);
                if !error.may_pass() {
                    return Err(error.into());
                }
                // the watch is opened again, with back-off
                let said = error.to_string();
                if said != *last {
                    say(&format!("{of}: {said}"))?;
                    *last = said;
                }
                continue;
            }
        };
        let Some(deployment) = state else {
            return Err(Error::Deleted { of: of.clone() });
        };
        match standing(&deployment) {
            Standing::Complete(said) => {
                return say(&format!("{of}: {said}"));
            }
            Standing::Stalled(why) => {
                return Err(Error::Stalled {
                    of: of.clone(),
                    why,
                });
            }
            Standing::Underway(said) if said != *last => {
                say(&format!("{of}: {said}"))?;
                *last = said;
            }
            Standing::Underway(_) => {}
        }
    }
}

fn standing(deployment: &MachineDeployment) -> Standing {
    let status = deployment.status.as_ref();
    let seen = status.and_then(|status| status.observed_generation);
    let conditions = status.map(|status| status.conditions.as_slice());
    let conditions = conditions.unwrap_or_default();
    let fails = find(conditions, ConditionType::Reconciled).filter(|c| c.status != Status::True);
    if seen != deployment.metadata.generation {
        return Standing::Underway(match fails {
            Some(failed) => failed.message.clone(),
            None => {
                "waiting for the manager to see the change; if that lasts, tatara describe shows why"
                    .into()
            }
        });
    }
    let Some(progressing) = find(conditions, ConditionType::Progressing) else {
        return Standing::Underway("waiting for the manager".into());
    };
    let said = progressing.message.clone();
    let is_ready = find(conditions, ConditionType::Ready).is_some_and(|c| c.status == Status::True);
    if progressing.status == Status::True && progressing.reason == Reason::Complete && is_ready {
        return Standing::Complete(said);
    }
    if let Some(why) = paused_by_annotation(deployment) {
        return Standing::Stalled(format!("it is paused: {why}"));
    }
    if deployment.spec.paused {
        let (namespace, name) = (
            deployment.namespace().unwrap_or_default(),
            deployment.name_any(),
        );
        let resume = format!("tatara rollout resume {name} -n {namespace}");
        return Standing::Stalled(format!("it is paused; go on: {resume}"));
    }
    if progressing.status == Status::True {
        return Standing::Underway(said);
    }
    Standing::Stalled(format!("{}: {said}", progressing.reason))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_complete_when_the_manager_says_so_of_the_present_spec() {
        let deployment =
            |seen: i64, status: &str, reason: &str, ready: &str| -> MachineDeployment {
                let condition = |name: &str, status: &str, reason: &str| {
                    json!({"type": name, "status": status, "reason": reason, "message": "words",
                    "lastTransitionTime": "2027-01-15T08:00:00Z"})
                };
                let value = json!({"metadata": {"name": "md", "generation": 2},
                "spec": {"selector": {}, "template": {"spec": {}}},
                "status": {"observedGeneration": seen, "conditions": [
                    condition("Progressing", status, reason), condition("Ready", ready, reason)]}});
                serde_json::from_value(value).expect("a MachineDeployment")
            };
        let underway = || Standing::Underway("words".into());
        for (seen, status, reason, ready, expected) in [
            (
                2,
                "True",
                "Complete",
                "True",
                Standing::Complete("words".into()),
            ),
            (2, "True", "WaitingForMachines", "False", underway()),
            (2, "True", "MachineSetUpdated", "False", underway()),
            (
                2,
                "False",
                "ProgressDeadlineExceeded",
                "False",
                Standing::Stalled("ProgressDeadlineExceeded: words".into()),
            ),
            (
                1,
                "True",
                "Complete",
                "True",
                Standing::Underway(
                    "waiting for the manager to see the change; if that lasts, tatara describe shows why".into(),
                ),
            ),
        ] {
            let is = standing(&deployment(seen, status, reason, ready));
            assert_eq!(is, expected, "{seen} {status} {reason}");
        }
    }
}
