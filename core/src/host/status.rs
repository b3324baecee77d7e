//! What a plan found, as the status of the Host. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::guard::marked;
use super::observed::{Contact, Observed};
use super::plan::{Plan, State};
use crate::api::bmc::BmcStatus;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::api::host::{HostFacts, MarkerReference};
use crate::api::{Host, HostStatus};
use crate::host::PowerState;
use crate::status_write::{WORDS, due};

/// For how long a status is held back. That a free Host is claimed stands in `spec.consumerRef`,
/// and what its Machine begins with follows in a moment.
pub fn holds_back(old: &HostStatus, new: &HostStatus) -> Duration {
    let is = |status: &HostStatus, state| status.state.as_deref() == Some(state_name(state));
    let is_claimed = is(old, State::Available) && is(new, State::Claimed);
    let is_read = !is_claimed && read_by_others(old) != read_by_others(new);
    due(old, new, is_read, WORDS)
}

/// What Machines choose a Host by, and people act on. A Machine lets go of one by its condition
/// Clean.
fn read_by_others(status: &HostStatus) -> impl PartialEq + use<> {
    let verdict = |one: &Condition| (one.type_.clone(), one.status.clone());
    let mut verdicts: Vec<_> = status.conditions.iter().map(verdict).collect();
    verdicts.sort_unstable();
    let facts = HostStatus {
        reason: None,
        message: None,
        conditions: Vec::new(),
        ..status.clone()
    };
    (facts, verdicts)
}

/// Whether a change of the state is published as an Event. Of the claim of a free Host the Machine
/// tells.
pub fn is_news(old: &HostStatus, new: &HostStatus, finding: &Finding) -> bool {
    let was_free = old.state.as_deref() == Some(state_name(State::Available));
    old.state != new.state && !(was_free && finding.reason() == Reason::Claimed)
}

/// The status that follows from a plan.
pub fn status(host: &Host, observed: &Observed, plan: &Plan) -> Option<HostStatus> {
    if plan.findings.is_empty() {
        return None;
    }
    let old = host.status.clone().unwrap_or_default();
    let mut findings = plan.findings.iter();
    let trouble = findings.find(|finding| {
        finding.condition == ConditionType::Available && finding.status != Status::True
    });
    let is_underway = observed.installation.is_some();
    Some(HostStatus {
        state: Some(state_name(plan.state).into()),
        reason: trouble.map(|finding| finding.reason().as_str().into()),
        message: trouble.map(Finding::message),
        facts: facts(observed, old.facts.as_ref()),
        bmc: bmc(observed, old.bmc.as_ref()),
        marker: marker(&observed.contact, &plan.findings, old.marker),
        conditions: standing(host, is_underway, &plan.findings, &old.conditions),
        observed_generation: old.observed_generation,
    })
}

fn state_name(state: State) -> &'static str {
    match state {
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

/// Conditions without a finding stay, except those about a BMC that was removed, and about an
/// installation that failed or was refused and is no longer requested.
fn standing(
    host: &Host,
    is_underway: bool,
    findings: &[Finding],
    old: &[Condition],
) -> Vec<Condition> {
    let of_bmc =
        |c: &Condition| c.type_ == ConditionType::BMCReachable || c.type_ == ConditionType::PowerOn;
    let is_told = findings
        .iter()
        .any(|finding| finding.condition == ConditionType::Installed);
    let is_over = |c: &Condition| {
        c.type_ == ConditionType::Installed && c.status != Status::True && !is_underway && !is_told
    };
    let mut old = old.to_vec();
    old.retain(|condition| host.spec.bmc.is_some() || !of_bmc(condition));
    old.retain(|condition| !is_over(condition));
    old
}

/// Whose marker makes it an orphan; as it was where nothing is found about that, for example while
/// it does not answer.
fn marker(
    contact: &Contact,
    findings: &[Finding],
    old: Option<MarkerReference>,
) -> Option<MarkerReference> {
    let mut findings = findings.iter();
    match findings.find(|finding| finding.condition == ConditionType::Clean) {
        None => old,
        Some(clean) if clean.reason() == Reason::Orphaned => {
            marked(contact).map(|(owner, _)| MarkerReference {
                namespace: owner.marker.namespace.clone(),
                name: owner.marker.machine.clone(),
                uid: owner.marker.uid.clone(),
                cluster: Some(owner.marker.cluster.clone()),
                initialized: owner.initialized,
            })
        }
        Some(_) => None,
    }
}

/// The power state: on if the host answers, or else as its BMC reports.
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

/// Free space changes all the time; it is updated when it changes by more than a tenth.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::Next;
    use crate::api::conditions::merge;
    use crate::status_write::CALM;

    #[test]
    fn what_is_said_of_an_installation_goes_with_it_unless_it_succeeded() {
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}}});
        let host: Host = serde_json::from_value(host).unwrap();
        let condition = |name: &str, status: &str, reason: &str| -> Condition {
            let text = json!({"type": name, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2027-01-15T08:00:00Z"});
            serde_json::from_value(text).unwrap()
        };
        let told = [Finding::no(
            ConditionType::Installed,
            Reason::ReinstallRefused,
            "no",
        )];
        // case, status, an installation is under way or failed, findings, whether it stays
        let cases: [(&str, &str, bool, &[Finding], bool); 5] = [
            ("succeeded", "True", false, &[], true),
            ("failed", "False", true, &[], true),
            ("refused", "False", false, &told, true),
            (
                "failed, and its record was removed",
                "False",
                false,
                &[],
                false,
            ),
            (
                "refused, and nobody asks any more",
                "False",
                false,
                &[],
                false,
            ),
        ];
        for (case, status, is_underway, findings, stays) in cases {
            let old = [
                condition("Clean", "True", "Clean"),
                condition("Installed", status, "Word"),
            ];
            let left = standing(&host, is_underway, findings, &old);
            assert_eq!(left, old[..=usize::from(stays)], "{case}");
        }
    }

    #[test]
    fn only_words_beside_the_state_of_a_host_can_wait() {
        let seen = |state: &str, reason, generation| {
            let clean = Finding::yes(ConditionType::Clean, reason, "");
            let conditions = merge(&[], &[clean], Some(generation), Timestamp::UNIX_EPOCH);
            HostStatus {
                state: Some(state.into()),
                observed_generation: Some(5),
                conditions,
                ..HostStatus::default()
            }
        };
        let old = seen("Claimed", Reason::Clean, 4);
        let plan = |reason| Plan {
            actions: Vec::new(),
            findings: vec![Finding::no(ConditionType::Available, reason, "")],
            state: State::Claimed,
            next: Next::OnChange,
        };
        let fine = plan(Reason::Claimed);
        for (case, new, expected) in [
            ("the spec is seen", seen("Claimed", Reason::Clean, 5), WORDS),
            ("used now", seen("Claimed", Reason::InUse, 5), CALM),
            (
                "its state",
                seen("Releasing", Reason::Clean, 4),
                Duration::ZERO,
            ),
            (
                "a warning",
                seen("Claimed", Reason::SshUnreachable, 5),
                Duration::ZERO,
            ),
        ] {
            assert_eq!(holds_back(&old, &new), expected, "{case}");
        }
        let free = seen("Available", Reason::Clean, 4);
        let claimed = seen("Claimed", Reason::Clean, 4);
        let told = |status: &HostStatus| HostStatus {
            conditions: merge(
                &status.conditions,
                &fine.findings,
                Some(5),
                Timestamp::UNIX_EPOCH,
            ),
            ..status.clone()
        };
        assert_eq!(holds_back(&free, &told(&claimed)), CALM, "a claim");
        let silent = plan(Reason::SshUnreachable);
        let lost = seen("Quarantined", Reason::Clean, 4);
        for (old, new, plan, expected) in [
            (&free, &claimed, &fine, false),
            (&lost, &claimed, &fine, true),
            (&free, &claimed, &silent, true),
            (&claimed, &free, &plan(Reason::Available), true),
            (&claimed, &claimed, &silent, false),
        ] {
            let told = is_news(old, new, &plan.findings[0]);
            assert_eq!(told, expected, "{:?}", plan.findings);
        }
    }
}
