//! What is done next for a Host, and why. Pure.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use crate::api::Host;
use crate::api::conditions::Finding;
use crate::api::host::ConsumerRef;
use crate::api::names::FINALIZER_IN_USE;
use crate::controllers::Next;
use crate::node::{Marker, Observation, Owner, Ownership, UnitName, UnitState};
use crate::provider::{ContactError, Follow, follow::Attempts};
use crate::remote::backoff;

/// A free host is asked again after this time: nothing else tells when one goes away.
const ASK_AGAIN: Duration = Duration::from_mins(1);
/// A host that does not answer is tried again after this time.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// What a pass over a Host knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Host.
    pub host: Arc<Host>,
    /// UID of this management cluster.
    pub management: String,
    /// Other Hosts with the same address and port, as `namespace/name`.
    pub twins: Vec<String>,
    /// What it says.
    pub contact: Contact,
    /// Keys that it showed, when none is pinned and the user trusts on first use.
    pub first_contact_keys: Vec<String>,
    /// The unit that runs on it, if one is followed.
    pub following: Option<Follow>,
    /// The Machine that its marker names exists here.
    pub owner_exists: bool,
    /// Failed resets in a row.
    pub attempts: Attempts,
}

/// What a host says.
#[derive(Clone, Debug)]
pub enum Contact {
    /// It was not asked: its Machine talks to it, or a reset is followed.
    NotAsked,
    /// It could not be asked.
    Failed(ContactError),
    /// What it said.
    Seen(Box<Observation>),
}

/// Where a host is in its life: a summary for people; conditions are the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum State {
    /// It has not been reached yet.
    #[default]
    Registering,
    /// A Machine may take it.
    Available,
    /// A Machine has it.
    Claimed,
    /// It is being reset.
    Releasing,
    /// It is not clean, and is never handed out so.
    Quarantined,
    /// Its owner keeps it back.
    Maintenance,
    /// It does not answer.
    Unreachable,
}

/// One thing to do, with everything decided.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub enum Action {
    /// Pin the keys that the host showed at first contact, by compare-and-swap.
    PinKeys(Vec<String>),
    /// Run the reset unit of this Machine, or attach to it.
    Reset(Marker),
    /// Clear the claim, by compare-and-swap.
    Free,
}

/// What is done next for a Host, and why.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[must_use]
pub struct Plan {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// The summary for people.
    pub state: State,
    /// When to look again, beside on every change.
    pub next: Next,
}

/// What is done next for a Host, and why.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = match &observed.contact {
        Contact::NotAsked => not_asked(observed),
        Contact::Failed(error) => failed(observed, error),
        Contact::Seen(seen) => answered(observed, seen, now),
    };
    if !observed.first_contact_keys.is_empty() {
        plan.actions
            .insert(0, Action::PinKeys(observed.first_contact_keys.clone()));
    }
    if observed.host.metadata.deletion_timestamp.is_some()
        && observed.host.spec.consumer_ref.is_none()
        && observed
            .host
            .finalizers()
            .iter()
            .any(|f| f == FINALIZER_IN_USE)
        && !plan.actions.contains(&Action::Free)
    {
        plan.actions.push(Action::Free);
    }
    plan
}

fn consumer(observed: &Observed) -> Option<&ConsumerRef> {
    observed.host.spec.consumer_ref.as_ref()
}

fn not_asked(observed: &Observed) -> Plan {
    if let Some(follow) = observed
        .following
        .as_ref()
        .filter(|follow| follow.unit == UnitName::Reset)
    {
        let message = match &follow.progress {
            Some(at) => format!("reset: {}/{} {}", at.index, at.total, at.step),
            None => "reset starts".into(),
        };
        return unavailable(State::Releasing, "Resetting", message, Next::OnChange);
    }
    claimed(observed)
}

fn claimed(observed: &Observed) -> Plan {
    let name = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    unavailable(
        State::Claimed,
        "Claimed",
        format!("Machine {name} has it"),
        Next::OnChange,
    )
}

fn unavailable(state: State, reason: &'static str, message: impl Into<String>, next: Next) -> Plan {
    Plan {
        findings: vec![Finding::no("Available", reason, message)],
        state,
        next,
        ..Plan::default()
    }
}

fn failed(observed: &Observed, error: &ContactError) -> Plan {
    let next = if error.transient {
        TRY_AGAIN
    } else {
        ASK_AGAIN
    };
    let state = if consumer(observed).is_some_and(|c| c.releasing) {
        State::Quarantined
    } else {
        State::Unreachable
    };
    let mut plan = unavailable(
        state,
        error.reason,
        error.message.clone(),
        Next::After(next),
    );
    plan.findings.insert(
        0,
        Finding::no("Reachable", error.reason, error.message.clone()),
    );
    if consumer(observed).is_some_and(|consumer| !consumer.releasing) {
        plan.state = State::Claimed;
    }
    plan
}

fn answered(observed: &Observed, seen: &Observation, now: Timestamp) -> Plan {
    let mut plan = match &seen.owner {
        Ownership::Nobody if seen.occupied.is_empty() => clean(observed),
        Ownership::Nobody => {
            let found: Vec<String> = seen.occupied.iter().map(ToString::to_string).collect();
            occupied(
                observed,
                format!(
                    "it runs somebody else's Kubernetes, and is left alone: {}",
                    found.join("; ")
                ),
            )
        }
        Ownership::Unreadable(text) => occupied(
            observed,
            format!(
                "its marker /var/lib/tatara/owner.json cannot be read ({text}); it is left alone: look at it, and remove the marker if it is nobody's"
            ),
        ),
        Ownership::Owner(owner) if owner.marker.management != observed.management => occupied(
            observed,
            format!(
                "it belongs to Machine {}/{} of another management cluster (uid {}), and is left alone",
                owner.marker.namespace, owner.marker.machine, owner.marker.management
            ),
        ),
        Ownership::Owner(owner) => owned(observed, seen, owner, now),
    };
    plan.findings
        .insert(0, Finding::yes("Reachable", "Answers", ""));
    plan
}

fn clean(observed: &Observed) -> Plan {
    let mut plan = match consumer(observed) {
        Some(consumer) if consumer.releasing => Plan {
            actions: vec![Action::Free],
            ..unavailable(
                State::Releasing,
                "Freeing",
                "reset and clean; freeing it",
                Next::OnChange,
            )
        },
        Some(_) => claimed(observed),
        None => free(observed),
    };
    plan.findings.insert(0, Finding::yes("Clean", "Clean", ""));
    plan
}

fn free(observed: &Observed) -> Plan {
    let again = Next::After(ASK_AGAIN);
    if !observed.twins.is_empty() {
        let address = &observed.host.spec.ssh.address;
        return unavailable(
            State::Quarantined,
            "DuplicateAddress",
            format!(
                "spec.ssh.address {address} is also that of Host {}; one server must be one Host: delete the other",
                observed.twins.join(", ")
            ),
            again,
        );
    }
    if observed.host.spec.maintenance {
        return unavailable(
            State::Maintenance,
            "Maintenance",
            "spec.maintenance is true",
            again,
        );
    }
    if observed.host.metadata.deletion_timestamp.is_some() {
        return unavailable(
            State::Maintenance,
            "Deleting",
            "the Host is being deleted",
            Next::OnChange,
        );
    }
    Plan {
        findings: vec![Finding::yes("Available", "Available", "")],
        state: State::Available,
        next: again,
        ..Plan::default()
    }
}

/// Somebody else's: nothing is done to it. A claim of ours on it was never fulfilled, and may go.
fn occupied(observed: &Observed, message: String) -> Plan {
    let mut plan = unavailable(
        State::Quarantined,
        "Occupied",
        message.clone(),
        Next::After(ASK_AGAIN),
    );
    plan.findings
        .insert(0, Finding::no("Clean", "Occupied", message));
    if consumer(observed).is_some_and(|consumer| consumer.releasing) {
        plan.actions.push(Action::Free);
    }
    plan
}

/// The marker names a Machine of this management cluster.
fn owned(observed: &Observed, seen: &Observation, owner: &Owner, now: Timestamp) -> Plan {
    match consumer(observed) {
        Some(consumer) if consumer.uid == owner.marker.uid && consumer.releasing => {
            reset(observed, seen, owner, now)
        }
        Some(consumer) if consumer.uid == owner.marker.uid => {
            let mut plan = claimed(observed);
            plan.findings.insert(0, Finding::yes("Clean", "InUse", ""));
            plan
        }
        _ => orphaned(observed, owner),
    }
}

/// Ours by its marker, and nobody's by its claim: a live node, for all we know, as after the restore
/// of an old backup. Never reset without being told.
fn orphaned(observed: &Observed, owner: &Owner) -> Plan {
    let Marker {
        namespace,
        machine,
        uid,
        cluster,
        ..
    } = &owner.marker;
    let exists = if observed.owner_exists {
        "exists, but does not claim it"
    } else {
        "does not exist here"
    };
    let message = format!(
        "its marker names Machine {namespace}/{machine} (uid {uid}), which {exists}; it may be a live node, and is left alone. To have it reset: \
         kubectl -n {} patch host {} --type=merge -p '{{\"spec\":{{\"consumerRef\":{{\"name\":\"{machine}\",\"uid\":\"{uid}\",\"cluster\":\"{cluster}\",\"releasing\":true}}}}}}'",
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let mut plan = unavailable(
        State::Quarantined,
        "Orphaned",
        message.clone(),
        Next::After(ASK_AGAIN),
    );
    plan.findings
        .insert(0, Finding::no("Clean", "Orphaned", message));
    plan
}

fn reset(observed: &Observed, seen: &Observation, owner: &Owner, now: Timestamp) -> Plan {
    let go = |message: String| Plan {
        actions: vec![Action::Reset(owner.marker.clone())],
        ..unavailable(State::Releasing, "Resetting", message, Next::OnChange)
    };
    let mut plan = match seen
        .unit(&owner.marker.uid, UnitName::Reset)
        .map(|status| &status.state)
    {
        None => go("reset starts".into()),
        Some(UnitState::Running(at)) => go(format!("reset: {}/{} {}", at.index, at.total, at.step)),
        Some(UnitState::Interrupted(at)) => go(format!(
            "reset was interrupted in step {}; starting again",
            at.step
        )),
        Some(UnitState::Succeeded) => {
            go("reset had ended, and the marker is still there; starting again".into())
        }
        Some(UnitState::Failed(failure)) => {
            let findings: Vec<String> = failure.findings.iter().map(ToString::to_string).collect();
            let why = if findings.is_empty() {
                failure.output.trim().to_owned()
            } else {
                findings.join("; ")
            };
            let message = format!(
                "reset failed in step {} with exit code {}: {why}",
                failure.at.step, failure.exit_code
            );
            let wait = observed.attempts.last.map_or(Duration::ZERO, |last| {
                let since = now
                    .duration_since(last)
                    .max(SignedDuration::ZERO)
                    .unsigned_abs();
                backoff::delay(observed.attempts.failed, 0.5).saturating_sub(since)
            });
            let mut plan = unavailable(
                State::Quarantined,
                "ResetFailed",
                message,
                Next::After(wait),
            );
            if wait.is_zero() {
                plan.actions.push(Action::Reset(owner.marker.clone()));
                plan.next = Next::OnChange;
            }
            plan
        }
    };
    plan.findings
        .insert(0, Finding::no("Clean", "NotResetYet", ""));
    plan
}
