//! Writes what a plan found on the Host. Only what differs is written.

use k8s_openapi::jiff::Timestamp;

use super::observed::{Contact, Observed};
use super::plan::{Plan, State};
use crate::api::HostStatus;
use crate::api::conditions::{self, Status};
use crate::api::host::HostFacts;
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Writes the status, if it differs, and an Event when the host became unavailable or free.
pub async fn write(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let old = host.status.clone().unwrap_or_default();
    let available = plan
        .findings
        .iter()
        .find(|finding| finding.condition == "Available");
    let trouble = available.filter(|finding| finding.status != Status::True);
    let new = HostStatus {
        state: Some(state(plan).into()),
        reason: trouble.map(|finding| finding.reason.into()),
        message: trouble.map(|finding| finding.message.clone()),
        facts: facts(observed, old.facts.as_ref()),
        conditions: conditions::merge(
            &old.conditions,
            &plan.findings,
            host.metadata.generation,
            now,
        ),
        observed_generation: host.metadata.generation,
    };
    if new == old {
        return Ok(());
    }
    let mut body = serde_json::to_value(&new)
        .map_err(|error| ReconcileError::other("write the status", error))?;
    if trouble.is_none() {
        body["reason"] = serde_json::Value::Null;
        body["message"] = serde_json::Value::Null;
    }
    patch::status(&context.client, host, body).await?;
    if let Some(finding) = available.filter(|_| old.state != new.state) {
        context.event(host, finding).await;
    }
    Ok(())
}

fn state(plan: &Plan) -> &'static str {
    match plan.state {
        State::Registering => "Registering",
        State::Available => "Available",
        State::Claimed => "Claimed",
        State::Releasing => "Releasing",
        State::Quarantined => "Quarantined",
        State::Maintenance => "Maintenance",
        State::Unreachable => "Unreachable",
    }
}

/// Free space changes all the time; it is news when it changes by a tenth.
fn facts(observed: &Observed, old: Option<&HostFacts>) -> Option<HostFacts> {
    let Contact::Seen(seen) = &observed.contact else {
        return old.cloned();
    };
    let mut facts = seen.facts.clone();
    if let Some(old) = old
        && (facts.disk_bytes - old.disk_bytes).abs() <= old.disk_bytes / 10
    {
        facts.disk_bytes = old.disk_bytes;
    }
    Some(facts)
}
