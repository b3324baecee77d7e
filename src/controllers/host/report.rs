//! Writes what a plan found on the Host. Only what differs is written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::observed::{Contact, Observed};
use super::plan::{Plan, State};
use crate::api::HostStatus;
use crate::api::bmc::BmcStatus;
use crate::api::conditions::{self, Status};
use crate::api::host::HostFacts;
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;
use crate::redfish::PowerState;

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
        bmc: bmc(observed, old.bmc.as_ref()),
        conditions: conditions(observed, plan, &old.conditions, now),
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
    match (&new.bmc, &old.bmc) {
        (None, Some(_)) => body["bmc"] = serde_json::Value::Null,
        (Some(bmc), Some(_)) if bmc.power_state.is_none() => {
            body["bmc"]["powerState"] = serde_json::Value::Null;
        }
        _ => {}
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
        State::Installing => "Installing",
        State::Quarantined => "Quarantined",
        State::Maintenance => "Maintenance",
        State::Unreachable => "Unreachable",
    }
}

/// What no finding speaks of stays, but for what is said of a BMC that there is no more.
fn conditions(
    observed: &Observed,
    plan: &Plan,
    old: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let host = observed.host.as_ref();
    let mut old = old.to_vec();
    let of_bmc = |c: &Condition| matches!(c.type_.as_str(), "BMCReachable" | "PowerOn");
    old.retain(|condition| host.spec.bmc.is_some() || !of_bmc(condition));
    conditions::merge(&old, &plan.findings, host.metadata.generation, now)
}

/// What is known of the power: by the host's own answer, or by its BMC's word.
fn bmc(observed: &Observed, old: Option<&BmcStatus>) -> Option<BmcStatus> {
    observed.host.spec.bmc.as_ref()?;
    let old = old.cloned().unwrap_or_default();
    let heard = observed.bmc.as_ref();
    let said = heard.map(|heard| &heard.power);
    let power_state = match (&observed.contact, said) {
        (Contact::Seen(_), _) => Some(PowerState::On.to_string()),
        (_, Some(Ok(state))) => Some(state.to_string()),
        (Contact::Failed(_), Some(Err(_))) => None,
        _ => old.power_state,
    };
    Some(BmcStatus {
        power_state: power_state.filter(|state| *state != PowerState::Unknown.to_string()),
        asked_with: heard
            .map(|heard| heard.asked_with.clone())
            .or(old.asked_with),
    })
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
