//! A host that belongs to somebody, by its marker or by what runs on it: reset only what is ours and
//! was let go, and leave everything else alone.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Observed, Owner as Known};
use super::{ASK_AGAIN, Action, Plan, State, claimed, consumer, reinstall, unavailable};
use crate::api::conditions::Finding;
use crate::api::installation::WipePolicy;
use crate::controllers::{Next, backoff};
use crate::node::{Marker, Observation, Owner, UnitName, UnitState};

/// Its marker cannot be read, and may be ours: a claim stays until somebody has looked.
pub fn unreadable(text: &str) -> Plan {
    left_alone(format!(
        "its marker /var/lib/tatara/owner.json cannot be read ({text}); it is left alone: look at it, and remove the marker if it is nobody's"
    ))
}

/// Somebody else's: nothing is done to it. A claim of ours on it was never fulfilled, and may go.
pub fn occupied(observed: &Observed, message: String) -> Plan {
    let mut plan = left_alone(message);
    if consumer(observed).is_some_and(|consumer| consumer.releasing) {
        plan.actions.push(Action::Free);
    }
    plan
}

fn left_alone(message: String) -> Plan {
    let mut plan = unavailable(
        State::Quarantined,
        "Occupied",
        message.clone(),
        Next::After(ASK_AGAIN),
    );
    plan.findings
        .insert(0, Finding::no("Clean", "Occupied", message));
    plan
}

/// The marker names a Machine of this management cluster.
pub fn plan(observed: &Observed, seen: &Observation, owner: &Owner, now: Timestamp) -> Plan {
    match consumer(observed) {
        Some(consumer) if consumer.uid == owner.marker.uid && consumer.releasing => {
            match observed.host.spec.wipe_policy {
                WipePolicy::Reset => reset(observed, seen, owner, now),
                WipePolicy::Retain => retain(observed, seen, owner),
                WipePolicy::Reinstall => reinstall::on_release(observed, now),
            }
        }
        Some(consumer) if consumer.uid == owner.marker.uid => {
            let mut plan = claimed(observed);
            plan.findings.insert(0, Finding::yes("Clean", "InUse", ""));
            plan
        }
        _ => orphaned(observed, &owner.marker),
    }
}

/// Ours by its marker, and not its Machine's by its claim: a live node, for all we know, as after the
/// restore of an old backup. Never reset without being told. The claim of another Machine was never
/// fulfilled, and may go.
fn orphaned(observed: &Observed, marker: &Marker) -> Plan {
    let whose = format!(
        "its marker names Machine {}/{} (uid {})",
        marker.namespace, marker.machine, marker.uid
    );
    let message = match &observed.owner {
        Known::Unknown => format!(
            "{whose}, which does not exist here; it may be a live node, and is left alone. To have it reset: {}",
            claim_command(observed, marker, true)
        ),
        Known::WithoutHost => format!(
            "{whose}, which exists and claims no Host, as after a restore; it may be a live node, and is left alone. To give it back to its Machine: {}",
            claim_command(observed, marker, false)
        ),
        Known::On(host) => format!(
            "{whose}, which claims Host {host}; it may be a live node, and is left alone. If both Hosts are one server, delete this one; else delete that Machine first"
        ),
    };
    let mut plan = unavailable(
        State::Quarantined,
        "Orphaned",
        message.clone(),
        Next::After(ASK_AGAIN),
    );
    plan.findings
        .insert(0, Finding::no("Clean", "Orphaned", message));
    if consumer(observed).is_some_and(|consumer| consumer.releasing) {
        plan.actions.push(Action::Free);
    }
    plan
}

fn claim_command(observed: &Observed, marker: &Marker, releasing: bool) -> String {
    let claim = format!(
        "{{\"spec\":{{\"consumerRef\":{{\"name\":\"{}\",\"uid\":\"{}\",\"cluster\":\"{}\",\"releasing\":{releasing}}}}}}}",
        marker.machine, marker.uid, marker.cluster
    );
    format!(
        "kubectl -n {} patch host {} --type=merge -p '{claim}'",
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    )
}

/// Claimed by a Machine that is gone without letting go, as when its finalizer was removed by hand.
pub fn abandoned(observed: &Observed) -> Plan {
    let (namespace, name) = (
        observed.host.namespace().unwrap_or_default(),
        observed.host.name_any(),
    );
    let machine = consumer(observed).map_or("", |consumer| consumer.name.as_str());
    unavailable(
        State::Claimed,
        "MachineGone",
        format!(
            "Machine {machine} claims it and does not exist; it may be a live node, and is left alone. To have it reset and freed: \
             kubectl -n {namespace} patch host {name} --type=merge -p '{{\"spec\":{{\"consumerRef\":{{\"releasing\":true}}}}}}'"
        ),
        Next::OnChange,
    )
}

/// Nothing is undone, but for the kubelet: it would bring the node back into the cluster.
fn retain(observed: &Observed, seen: &Observation, owner: &Owner) -> Plan {
    let mut plan = if seen.kubelet_active {
        let mut plan = unavailable(
            State::Releasing,
            "Retaining",
            "stopping its kubelet; nothing else on it is undone, by spec.wipePolicy",
            Next::After(ASK_AGAIN),
        );
        plan.actions.push(Action::StopKubelet(owner.marker.clone()));
        plan
    } else {
        reinstall::retained(observed)
    };
    plan.findings.insert(
        0,
        Finding::no(
            "Clean",
            "Retained",
            "what its Machine left is kept, by spec.wipePolicy",
        ),
    );
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
        None => match &observed.attempts.error {
            None => go("reset starts".into()),
            Some(error) => again(
                observed,
                owner,
                format!("reset could not be started: {error}"),
                now,
            ),
        },
        Some(UnitState::Running(at)) => go(format!("reset: {}/{} {}", at.index, at.total, at.step)),
        Some(UnitState::Interrupted(at)) => {
            let message = format!("reset was interrupted in step {}; starting again", at.step);
            if observed.attempts.failed == 0 {
                go(message)
            } else {
                again(observed, owner, message, now)
            }
        }
        Some(UnitState::Succeeded) => {
            go("reset had ended, and the marker is still there; starting again".into())
        }
        Some(UnitState::Failed(failure)) => {
            let message = format!(
                "reset failed in step {} with exit code {}: {}",
                failure.at.step,
                failure.exit_code,
                failure.why()
            );
            again(observed, owner, message, now)
        }
    };
    plan.findings.insert(
        0,
        Finding::no(
            "Clean",
            "NotResetYet",
            "what its Machine left is removed before it is free",
        ),
    );
    plan
}

/// A reset that failed: tried again after a pause that grows.
fn again(observed: &Observed, owner: &Owner, message: String, now: Timestamp) -> Plan {
    let wait = observed.attempts.last.map_or(Duration::ZERO, |last| {
        let since = now
            .duration_since(last)
            .max(SignedDuration::ZERO)
            .unsigned_abs();
        backoff::delay(observed.attempts.failed, 0.5).saturating_sub(since)
    });
    let plan = unavailable(
        State::Quarantined,
        "ResetFailed",
        message,
        Next::After(wait),
    );
    if !wait.is_zero() {
        return plan;
    }
    Plan {
        actions: vec![Action::Reset(owner.marker.clone())],
        next: Next::OnChange,
        ..plan
    }
}
