//! What is done next for the ClusterProfiles of a Cluster, and why. Pure.

use crate::Why;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::access::{self, Entry, Kubeconfig};
use super::desired::{desired_object, desired_status, withdrawn_status};
use super::observed::{Existing, Observed, Ours};
use super::problems;
use crate::Next;
use crate::api::cluster_profile::AccessProvider;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::{ClusterProfile, ClusterProfileStatus};

/// Condition of the Cluster that says whether it is published.
pub const CONDITION: ConditionType = ConditionType::ProfilePublished;
/// How long the finalizers of consumers may hold a profile, and with it the end of its Cluster. A
/// consumer that no longer exists would hold it for ever.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Make the account of consumers in the workload cluster, or repair it.
    MakeAccount,
    /// Write the kubeconfig of consumers into their Secret.
    WriteSecret {
        /// UID of the Secret, when there is one.
        uid: Option<String>,
        /// What it holds then.
        kubeconfig: Kubeconfig,
    },
    /// Add the finalizer that keeps the Cluster until its profiles are deleted.
    Hold,
    /// Write what differs of a profile.
    Publish {
        /// Inventory namespace.
        namespace: String,
        /// UID of the profile, when there is one.
        uid: Option<String>,
        /// The object, when it differs.
        object: Option<Box<ClusterProfile>>,
        /// Its status, when it differs.
        status: Option<ClusterProfileStatus>,
    },
    /// Delete a profile.
    Withdraw {
        /// Inventory namespace.
        namespace: String,
        /// UID of the profile.
        uid: String,
    },
    /// Remove that finalizer from the Cluster.
    Release,
}

/// What is done next, and why.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// The Cluster's condition.
    pub findings: Vec<Finding>,
    /// When to look again at the latest, beside on every change.
    pub next: Next,
}

impl crate::Plan for Plan {
    type Action = Action;

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn next(&self, _: Timestamp) -> Next {
        self.next
    }
}

impl Plan {
    /// Whether nothing is left to do in the management cluster.
    pub fn is_settled(&self) -> bool {
        self.actions
            .iter()
            .all(|action| *action == Action::MakeAccount)
    }

    /// What the API server refused comes before what was planned.
    pub fn learn(&mut self, found: Option<Finding>) {
        if let Some(found) = found {
            self.findings = vec![found];
        }
    }
}

/// What is done next for the ClusterProfiles of a Cluster, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if observed.cluster.deleting {
        return deletion(observed, now);
    }
    let mut plan = Plan::default();
    if observed.account_due {
        plan.actions.push(Action::MakeAccount);
    }
    if !observed.unchanged {
        // the way in is there before it is shown
        let (access, taken) = match access::entry(observed) {
            Entry::Open(access, write) => {
                plan.actions.extend(write);
                (Some(*access), None)
            }
            Entry::Closed => (None, None),
            Entry::Taken(by) => (None, Some(by)),
        };
        if observed.served {
            profiles(
                &mut plan,
                observed,
                (access.as_ref(), taken.as_deref()),
                now,
            );
        } else {
            plan.findings.push(problems::definition_missing());
        }
    }
    if plan.is_settled() {
        plan.next = observed.asks;
    }
    plan
}

/// What differs of the profiles of a Cluster that stays, and what keeps it from being published.
fn profiles(
    plan: &mut Plan,
    observed: &Observed,
    (access, taken): (Option<&AccessProvider>, Option<&str>),
    now: Timestamp,
) {
    let mut actions = Vec::new();
    let mut problems = Vec::new();
    let mut published = Vec::new();
    problems.extend(taken.map(|by| problems::secret_taken(observed, by)));
    for namespace in observed.namespaces.iter().filter(|_| taken.is_none()) {
        match publish(observed, access, namespace, now) {
            Ok(action) => {
                actions.extend(action);
                published.push(namespace.as_str());
            }
            Err(problem) => problems.push(problem),
        }
    }
    for (namespace, ours) in ours(observed) {
        if taken.is_some() || !observed.namespaces.contains(namespace) {
            let why = Reason::Withdrawn;
            withdraw(&mut actions, observed, namespace, ours, why, now);
        }
    }
    if !actions.is_empty() && !observed.cluster.held {
        plan.actions.push(Action::Hold);
    }
    plan.actions.extend(actions);
    problems.extend(
        observed
            .forbidden
            .iter()
            .map(|name| problems::forbidden(name)),
    );
    plan.findings
        .push(problems::finding(observed, &published, &problems));
}

/// What differs of the profile in a namespace; `None` when nothing does.
fn publish(
    observed: &Observed,
    access: Option<&AccessProvider>,
    namespace: &str,
    now: Timestamp,
) -> Result<Option<Action>, Why> {
    let existing = match observed.profiles.get(namespace) {
        Some(Existing::Foreign(whose)) => {
            return Err(problems::foreign(observed, namespace, whose));
        }
        Some(Existing::Ours(ours)) if ours.deleted_at.is_some() => {
            return Err(problems::being_deleted(namespace));
        }
        Some(Existing::Ours(ours)) => Some(ours.as_ref()),
        None if access.is_none() => {
            return Err(problems::waiting(observed));
        }
        None => None,
    };
    let object = desired_object(observed, namespace, existing);
    let status = desired_status(observed, access, existing, now);
    let object_differs = existing.is_none_or(|ours| !ours.owned.is_object(&object));
    let status_differs = existing.is_none_or(|ours| ours.owned.status != status);
    if !object_differs && !status_differs {
        return Ok(None);
    }
    Ok(Some(Action::Publish {
        namespace: namespace.to_owned(),
        uid: existing.map(|ours| ours.uid.clone()),
        object: object_differs.then(|| Box::new(object)),
        status: status_differs.then_some(status),
    }))
}

fn ours(observed: &Observed) -> impl Iterator<Item = (&String, &Ours)> {
    observed
        .profiles
        .iter()
        .filter_map(|(namespace, existing)| match existing {
            Existing::Ours(ours) => Some((namespace, ours.as_ref())),
            Existing::Foreign(_) => None,
        })
}

/// Says that the workload cluster is leaving, then deletes the profile: consumers that hold it see
/// why.
fn withdraw(
    actions: &mut Vec<Action>,
    observed: &Observed,
    namespace: &str,
    ours: &Ours,
    reason: Reason,
    now: Timestamp,
) {
    if ours.deleted_at.is_some() {
        return;
    }
    let status = withdrawn_status(observed, ours, reason, now);
    if status != ours.owned.status {
        actions.push(Action::Publish {
            namespace: namespace.to_owned(),
            uid: Some(ours.uid.clone()),
            object: None,
            status: Some(status),
        });
    }
    actions.push(Action::Withdraw {
        namespace: namespace.to_owned(),
        uid: ours.uid.clone(),
    });
}

/// Profiles are deleted first; the Cluster follows when they are deleted, or when their finalizers
/// took too long.
fn deletion(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if !observed.cluster.held {
        return plan;
    }
    let mut waiting = Vec::new();
    for (namespace, ours) in ours(observed) {
        withdraw(
            &mut plan.actions,
            observed,
            namespace,
            ours,
            Reason::ClusterDeleting,
            now,
        );
        let left = ours
            .deleted_at
            .map_or(PATIENCE, |since| PATIENCE - now.duration_since(since));
        if left > SignedDuration::ZERO {
            waiting.push((left, namespace, ours));
        }
    }
    let Some((left, namespace, ours)) = waiting.into_iter().max_by_key(|(left, ..)| *left) else {
        plan.actions.push(Action::Release);
        return plan;
    };
    plan.findings
        .push(problems::withdrawing(observed, namespace, ours));
    plan.next = Next::After(left.unsigned_abs());
    plan
}

#[cfg(test)]
#[path = "plan_tests/mod.rs"]
mod tests;
