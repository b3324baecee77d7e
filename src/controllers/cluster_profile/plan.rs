//! What is done next for the ClusterProfiles of a Cluster, and why. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::desired::{desired_object, desired_status, withdrawn_status};
use super::owned::Owned;
use super::problems::{self, Problem};
use crate::api::ClusterProfile;
use crate::api::ClusterProfileStatus;
use crate::api::cluster_profile::AccessProvider;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::cluster::health::Verdict;

/// Condition of the Cluster that says whether it is published.
pub const CONDITION: ConditionType = ConditionType::ProfilePublished;
/// How long the finalizers of consumers may hold a profile, and with it the end of its Cluster. A
/// consumer that is gone would hold it for ever.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// What a pass knows. Everything about the member is what was detected of it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Cluster.
    pub cluster: ClusterFacts,
    /// Inventory namespaces that were asked for, and may be written to.
    pub namespaces: Vec<String>,
    /// Those that were asked for, and may not.
    pub forbidden: Vec<String>,
    /// How consumers reach the member; absent while there is no way, or no identity for them.
    pub access: Option<AccessProvider>,
    /// The other Cluster whose kubeconfig Secret has the name of the one for consumers.
    pub taken_by: Option<String>,
    /// Why there is none, for people.
    pub waits_for: String,
    /// What the probes of the control plane add up to.
    pub verdict: Verdict,
    /// The same for people.
    pub health: String,
    /// `gitVersion` of the member, when it said.
    pub version: Option<String>,
    /// The member's ClusterProperties as sorted names and values, when it said.
    pub properties: Option<Vec<(String, String)>>,
    /// ClusterProperties that a profile cannot carry.
    pub skipped: Vec<String>,
    /// Whether the management cluster knows ClusterProfiles at all.
    pub served: bool,
    /// The profiles that are there under the Cluster's name, by namespace.
    pub profiles: BTreeMap<String, Existing>,
}

/// What a profile says about its Cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// Namespace.
    pub namespace: String,
    /// Name, and the profile's.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Labels, which consumers copy on.
    pub labels: BTreeMap<String, String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it waits for its profiles to go first.
    pub held: bool,
}

/// A profile that is there.
#[derive(Clone, Debug, PartialEq)]
pub enum Existing {
    /// It stands for this Cluster and is ours.
    Ours(Box<Ours>),
    /// It is somebody else's, or another Cluster's; who, for people.
    Foreign(String),
}

/// A profile of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ours {
    /// UID.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// Since when it is being deleted.
    pub deleted_at: Option<Timestamp>,
    /// Finalizers that hold it; all are of others.
    pub finalizers: Vec<String>,
    /// The parts that we wrote.
    pub owned: Owned,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Hold the Cluster until its profiles are gone.
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
    /// Let the Cluster go.
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
    pub next: Option<Duration>,
}

/// What is done next for the ClusterProfiles of a Cluster, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if observed.cluster.deleting {
        return deletion(observed, now);
    }
    if !observed.served {
        plan.findings.push(problems::definition_missing());
        return plan;
    }
    let mut problems = Vec::new();
    let mut published = Vec::new();
    let taken = observed.taken_by.as_deref();
    problems.extend(taken.map(|by| problems::secret_taken(observed, by)));
    for namespace in observed.namespaces.iter().filter(|_| taken.is_none()) {
        match publish(observed, namespace, now) {
            Ok(Some(action)) => {
                plan.actions.push(action);
                published.push(namespace.as_str());
            }
            Ok(None) => published.push(namespace.as_str()),
            Err(problem) => problems.push(problem),
        }
    }
    for (namespace, ours) in ours(observed) {
        if taken.is_some() || !observed.namespaces.contains(namespace) {
            withdraw(
                &mut plan.actions,
                observed,
                namespace,
                ours,
                Reason::Withdrawn,
                now,
            );
        }
    }
    if !plan.actions.is_empty() && !observed.cluster.held {
        plan.actions.insert(0, Action::Hold);
    }
    problems.extend(
        observed
            .forbidden
            .iter()
            .map(|name| problems::forbidden(name)),
    );
    plan.findings
        .push(problems::finding(observed, &published, &problems));
    plan
}

/// What differs of the profile in a namespace; `None` when nothing does.
fn publish(
    observed: &Observed,
    namespace: &str,
    now: Timestamp,
) -> Result<Option<Action>, Problem> {
    let existing = match observed.profiles.get(namespace) {
        Some(Existing::Foreign(whose)) => {
            return Err(problems::foreign(observed, namespace, whose));
        }
        Some(Existing::Ours(ours)) if ours.deleted_at.is_some() => {
            return Err(problems::being_deleted(namespace));
        }
        Some(Existing::Ours(ours)) => Some(ours.as_ref()),
        None if observed.access.is_none() => {
            return Err(problems::waiting(observed));
        }
        None => None,
    };
    let object = desired_object(observed, namespace, existing);
    let status = desired_status(observed, existing, now);
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

/// Says that the member is leaving, then deletes the profile: consumers that hold it see why.
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

/// Profiles go first; the Cluster follows when they are gone, or their finalizers took too long.
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
    plan.next = Some(left.unsigned_abs());
    plan
}

#[cfg(test)]
#[path = "plan_tests/mod.rs"]
mod tests;
