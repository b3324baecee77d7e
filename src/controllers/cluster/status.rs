//! Writes what a plan found on the Cluster. Only what differs is written.

use k8s_openapi::jiff::Timestamp;

use super::observed::{MachineFact, Observed};
use super::plan::Plan;
use crate::api::ClusterStatus;
use crate::api::cluster::{ApiEndpoint, MachineCounts};
use crate::api::conditions::{self, ConditionType, Finding};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Conditions whose news is worth an Event.
const TOLD: [ConditionType; 5] = [
    ConditionType::ConfigurationValid,
    ConditionType::CertificatesReady,
    ConditionType::ControlPlaneInitialized,
    ConditionType::ControlPlaneHealthy,
    ConditionType::Deleting,
];

/// Writes the status, if it differs, and an Event for each condition that is news.
pub async fn write(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let cluster = observed.cluster.as_ref();
    let old = cluster.status.clone().unwrap_or_default();
    let new = status(observed, plan, &old, now);
    if new == old || plan.phase.is_empty() {
        return Ok(());
    }
    let body = serde_json::to_value(&new)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    patch::status(&context.client, cluster, body).await?;
    for finding in plan
        .findings
        .iter()
        .filter(|finding| is_news(&old, finding))
    {
        context.event(cluster, finding).await;
    }
    Ok(())
}

fn is_news(old: &ClusterStatus, finding: &Finding) -> bool {
    let before = conditions::find(&old.conditions, finding.condition);
    TOLD.contains(&finding.condition)
        && before.map(|c| (c.reason.as_str(), c.status.as_str()))
            != Some((finding.reason.as_str(), finding.status.as_str()))
        && (before.is_some() || finding.status != conditions::Status::Unknown)
}

fn status(observed: &Observed, plan: &Plan, old: &ClusterStatus, now: Timestamp) -> ClusterStatus {
    let generation = observed.cluster.metadata.generation;
    let mut status = ClusterStatus {
        phase: Some(plan.phase.into()),
        observed_generation: generation,
        conditions: conditions::merge(&old.conditions, &plan.findings, generation, now),
        control_plane: Some(counts(&observed.machines, true)),
        workers: Some(counts(&observed.machines, false)),
        ..old.clone()
    };
    if let Some(endpoint) = &observed.endpoint {
        status.endpoint = Some(endpoint.to_string());
        status.api_endpoints = vec![ApiEndpoint {
            host: endpoint.host.clone(),
            port: i32::from(endpoint.port),
        }];
    }
    if let Some(version) = observed
        .health
        .as_ref()
        .and_then(|health| health.version.clone())
    {
        status.version = Some(version);
    }
    status
}

fn counts(machines: &[MachineFact], control_plane: bool) -> MachineCounts {
    let mine = machines
        .iter()
        .filter(|machine| machine.control_plane == control_plane);
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    MachineCounts {
        desired: count(mine.clone().filter(|machine| !machine.deleting).count()),
        ready: count(mine.filter(|machine| machine.ready).count()),
    }
}
