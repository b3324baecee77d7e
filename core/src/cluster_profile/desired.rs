//! The profile that a Cluster should have. Pure; see `plan` for when it is written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;

use super::access;
use super::observed::{ClusterFacts, Observed, Ours};
use crate::Why;
use crate::api::cluster_profile::{AccessProvider, ClusterManager, ProfileVersion, Property};
use crate::api::conditions::{self, ConditionType, Finding, Reason};
use crate::api::names::{
    LABEL_CLUSTER, LABEL_CLUSTER_NAMESPACE, LABEL_PROFILE_MANAGER, LABEL_PROFILE_MEMBER_ID,
    PROFILE_MANAGER,
};
use crate::api::{ClusterProfile, ClusterProfileSpec, ClusterProfileStatus};
use crate::control_plane::health::Verdict;

/// Condition of a profile: whether the workload cluster's control plane is healthy (KEP-4322).
const HEALTHY: ConditionType = ConditionType::ControlPlaneHealthy;
/// Condition of a profile: whether the workload cluster is under our management (KEP-4322).
const JOINED: ConditionType = ConditionType::Joined;

/// Metadata and spec of the profile in an inventory namespace.
pub(super) fn desired_object(
    observed: &Observed,
    namespace: &str,
    existing: Option<&Ours>,
) -> ClusterProfile {
    let cluster = &observed.cluster;
    let mut labels = cluster.labels.clone();
    labels.insert(LABEL_PROFILE_MANAGER.into(), PROFILE_MANAGER.into());
    labels.insert(LABEL_CLUSTER.into(), cluster.name.clone());
    labels.insert(LABEL_CLUSTER_NAMESPACE.into(), cluster.namespace.clone());
    labels.insert(LABEL_PROFILE_MEMBER_ID.into(), member_id(cluster, existing));
    // an owner in another namespace would make the garbage collector delete the profile
    let owner = (namespace == cluster.namespace).then(|| access::owner(cluster));
    let spec = ClusterProfileSpec {
        display_name: Some(cluster.name.clone()),
        cluster_manager: ClusterManager {
            name: PROFILE_MANAGER.to_owned(),
        },
    };
    ClusterProfile {
        metadata: ObjectMeta {
            name: Some(cluster.name.clone()),
            namespace: Some(namespace.to_owned()),
            uid: existing.map(|ours| ours.uid.clone()),
            labels: Some(labels),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// The identity of the workload cluster: what the user says, else what was said before (a restored
/// Cluster has a new UID and is the same workload cluster), else the Cluster's UID.
fn member_id(cluster: &ClusterFacts, existing: Option<&Ours>) -> String {
    let given = cluster
        .labels
        .get(LABEL_PROFILE_MEMBER_ID)
        .filter(|id| !id.is_empty());
    let before = existing.and_then(|ours| ours.owned.labels.get(LABEL_PROFILE_MEMBER_ID));
    given.or(before).unwrap_or(&cluster.uid).clone()
}

/// What was detected, over what was detected before where the workload cluster does not say now.
pub(super) fn desired_status(
    observed: &Observed,
    access: Option<&AccessProvider>,
    existing: Option<&Ours>,
    now: Timestamp,
) -> ClusterProfileStatus {
    let before = existing
        .map(|ours| ours.owned.status.clone())
        .unwrap_or_default();
    let mut findings = vec![Finding::yes(JOINED, Reason::Managed, "")];
    findings.extend(healthy(observed, &before.conditions));
    let kubernetes = observed.version.clone();
    let properties = observed.properties.as_ref().map(|properties| {
        let properties = properties.iter().cloned();
        properties
            .map(|(name, value)| Property { name, value })
            .collect()
    });
    ClusterProfileStatus {
        conditions: merged(&before.conditions, &findings, existing, now),
        version: kubernetes
            .map(|version| ProfileVersion {
                kubernetes: Some(version),
            })
            .or(before.version),
        properties: properties.unwrap_or(before.properties),
        access_providers: match access {
            Some(access) => vec![access.clone()],
            None => before.access_providers,
        },
    }
}

/// The status of a profile that is about to go.
pub(super) fn withdrawn_status(
    observed: &Observed,
    ours: &Ours,
    reason: Reason,
    now: Timestamp,
) -> ClusterProfileStatus {
    let message = format!("{} is leaving this inventory", observed.cluster.name);
    let leaving = Finding::no(JOINED, reason, message);
    let before = ours.owned.status.clone();
    ClusterProfileStatus {
        conditions: merged(&before.conditions, &[leaving], Some(ours), now),
        ..before
    }
}

/// Nothing while the probes are undecided and something was said before: a restart of ours is no
/// event of theirs.
fn healthy(observed: &Observed, before: &[Condition]) -> Option<Finding> {
    let finding = match observed.verdict {
        Verdict::Healthy => Finding::yes(HEALTHY, Reason::ReadyzPassed, ""),
        Verdict::Unhealthy => Finding::no(HEALTHY, Reason::ReadyzFailed, observed.health.clone()),
        Verdict::Undecided if conditions::find(before, HEALTHY).is_some() => return None,
        Verdict::Undecided => Finding::unknown(HEALTHY, Reason::NotAskedYet, ""),
    };
    Some(finding)
}

/// The conditions that follow, sorted as they are read back. Where status and reason stay, the
/// message does too: "connection refused" and "no answer" in turn are no news for consumers.
fn merged(
    before: &[Condition],
    findings: &[Finding],
    existing: Option<&Ours>,
    now: Timestamp,
) -> Vec<Condition> {
    let keep_message = |finding: &Finding| {
        let old = conditions::find(before, finding.condition)
            .filter(|old| old.status == finding.status.as_str() && old.reason == finding.reason());
        let stays = old.map(|old| Why::new(finding.reason(), old.message.clone()));
        Finding {
            why: stays.unwrap_or_else(|| finding.why.clone()),
            ..finding.clone()
        }
    };
    let findings: Vec<_> = findings.iter().map(keep_message).collect();
    let generation = existing.map_or(1, |ours| ours.generation);
    let mut merged = conditions::merge(before, &findings, Some(generation), now);
    for condition in &mut merged {
        condition.observed_generation = Some(generation);
    }
    merged.sort_by(|a, b| a.type_.cmp(&b.type_));
    merged
}
