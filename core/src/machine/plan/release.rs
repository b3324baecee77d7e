//! A host that a Machine has released: what proves that nothing of the Machine runs on it, and what
//! is unsafe until then.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::super::cluster::ObservedCluster;
use super::super::observed::{Contact, Infrastructure, Observed, Placement, Stuck};
use super::deletion::{cluster_goes, deleted_at, deleting, given_up_at, of_user};
use super::doubt::{self, ClusterName};
use super::end::{finish, gone, unreset};
use super::lost_claim::host_is_gone;
use super::{Action, Plan, retained};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::node::{JobKind, Observation};
use crate::proof::Proof;
use crate::{Next, pace, remedy};

/// The host is being reset. If it does not answer, or its reset fails, nothing proves that its pods
/// have ended: the Machine and its Node stay until the time limit, with which the user authorises
/// abandoning the host.
pub fn plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    if let Some(proof) = of_user(observed) {
        return finish(observed, &proof, now);
    }
    let since = match held.stuck {
        Some(Stuck::Fenced) => return fenced(observed, held, now),
        Some(Stuck::Retained) => return retained::plan(observed, held, now),
        Some(Stuck::Silent(since)) => since,
        Some(Stuck::ResetFails | Stuck::Waits) => deleted_at(observed).unwrap_or(now),
        Some(Stuck::LeftAlone) => return left_alone(observed, held),
        None => return resetting(observed, held, now),
    };
    let end = given_up_at(observed, since, now);
    // a reset that is under way proves itself when it ends
    let is_tried = held.stuck == Some(Stuck::ResetFails)
        && observed
            .follow
            .as_ref()
            .is_some_and(|follow| follow.job.kind == JobKind::Reset);
    let has_passed = !is_tried && end.is_some_and(|end| end <= now);
    if let Some(doubt) = may_be_back(held).filter(|_| has_passed) {
        return Plan::waiting(deleting(Reason::WaitingForHost, doubt));
    }
    if let Some(proof) = Proof::of_time_limit(observed.uid(), has_passed) {
        return gone(observed, &proof);
    }
    if held.stuck == Some(Stuck::Waits) {
        return Plan {
            next: Next::at(end, now),
            ..Plan::waiting(awaits_step(observed, held, end))
        };
    }
    let (reason, what) = failed_reset(held);
    let finding = deleting(reason, not_reset(observed, held, &what, end));
    let next = if is_tried {
        // its limit has no effect before that reset has ended
        Next::After(pace::SERVER)
    } else {
        Next::at(end, now)
    };
    Plan {
        next,
        ..Plan::waiting(finding)
    }
}

/// Why its host is not reset: it does not answer, or a step of the reset fails.
fn failed_reset(held: &Infrastructure) -> (Reason, String) {
    match held.stuck {
        Some(Stuck::Silent(since)) => (
            Reason::HostUnreachable,
            match &held.why {
                Some((reason, message)) => {
                    format!(
                        "has not been reachable for its reset since {since:.0}: {reason}: {message}"
                    )
                }
                None => format!("has not answered since {since:.0}"),
            },
        ),
        _ => (
            Reason::ResetFailed,
            match &held.why {
                Some((reason, message)) => format!("could not be reset yet: {reason}: {message}"),
                None => "could not be reset yet, and its conditions say why".to_owned(),
            },
        ),
    }
}

/// Why a host that its conditions call silent is not given up, though its time limit has passed:
/// they may be old, as after an outage of the manager or a restore.
fn may_be_back(held: &Infrastructure) -> Option<String> {
    let then = match &held.contact {
        Contact::Unreachable { reason, .. } if *reason != Reason::SshBusy => return None,
        Contact::Seen(_) => "answers again; its reset goes on",
        _ => "is asked once more before it is given up",
    };
    let is_silent = matches!(held.stuck, Some(Stuck::Silent(_)));
    is_silent.then(|| format!("Host {} {then}", held.name))
}

/// A wait, and nobody's to end: whoever gives the host up meanwhile hands out one on which kubeadm
/// may run.
fn awaits_step(observed: &Observed, held: &Infrastructure, end: Option<Timestamp>) -> Finding {
    let why = held
        .why
        .as_ref()
        .map_or("a step runs on it", |(_, why)| why);
    let limit = end.map(|end| {
        format!("; this Machine is removed at {end:.0} at the latest, as set by spec.deletion.hostReleaseTimeoutSeconds{}", turn_stays(observed))
    });
    let message = format!(
        "Host {} is not reset yet: {why}. Nobody has to act: a step is stopped after 45 minutes{}",
        held.name,
        limit.unwrap_or_default()
    );
    deleting(Reason::WaitingForHost, message)
}

/// Its own controller does nothing to it, and reports why.
fn left_alone(observed: &Observed, held: &Infrastructure) -> Plan {
    let (reason, message) = held.why.clone().unwrap_or_default();
    let name = &held.name;
    let message = if reason == Reason::Paused {
        format!(
            "Host {name} was released, and is not reset while it is paused: {}",
            remedy::resume("host", &observed.marker.namespace, name)
        )
    } else {
        format!(
            "Host {name} was released and is not being reset: {reason}: {message}. Resolve that first. Only if the server is destroyed, erased or disconnected for good, and another answers at its address: {} --force",
            host_is_gone(observed)
        )
    };
    // a pause is somebody's will; the others end by nobody's doing, so what owns the Machine warns
    // of them as well
    let fault = Reason::parse(&reason).filter(|reason| reason.is_of_strange_host());
    Plan::waiting(deleting(fault.unwrap_or(Reason::WaitingForHost), message))
}

/// Its own controller reports the progress of the reset; once it reports success, the host itself
/// is queried.
fn resetting(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    let waiting = |message: String| Plan::waiting(deleting(Reason::WaitingForHost, message));
    match &held.contact {
        Contact::Seen(seen) if let Some(finding) = of_another_cluster(observed, held, seen) => {
            // the host says so; elsewhere this reason is of records, whose edit is an event
            Plan {
                next: Next::After(pace::SERVER),
                ..Plan::waiting(finding)
            }
        }
        Contact::Seen(seen) if made_control_plane(observed, seen) => record(held),
        Contact::Seen(seen) => match Proof::of_host(&observed.marker, observed.is_begun(), seen) {
            Ok(proof) => finish(observed, &proof, now),
            Err(why) => {
                let made_another = seen
                    .owner
                    .of(&observed.marker)
                    .is_some_and(|o| o.initialized);
                let remedy = if made_another && has_another(observed) {
                    format!(
                        ". kubeadm init succeeded on it, but another Machine is recorded as the one that created the control plane. Only if that control plane runs, and this one is a left-over: {} --force; then the Host is reset",
                        host_is_gone(observed)
                    )
                } else {
                    String::new()
                };
                waiting(format!("Host {} is not reset: {why}{remedy}", held.name))
            }
        },
        Contact::Unreachable { message, .. } => waiting(format!(
            "Host {} was reset, and its last check has not succeeded yet: {message}",
            held.name
        )),
        Contact::NotAsked | Contact::SelfRegistering(_) => waiting(format!(
            "Host {} is being released; its conditions say how far that is",
            held.name
        )),
    }
}

/// The record of a control plane that was made, where the host shows it before it was released, and
/// the Cluster does not know of it.
pub(super) fn unrecorded(observed: &Observed) -> Option<Plan> {
    if of_user(observed).is_some() {
        return None;
    }
    let Placement::Held(held) = &observed.placement else {
        return None;
    };
    let Contact::Seen(seen) = &held.contact else {
        return None;
    };
    let is_other = || of_another_cluster(observed, held, seen).is_some();
    (made_control_plane(observed, seen) && !is_other()).then(|| record(held))
}

fn record(held: &Infrastructure) -> Plan {
    let message = format!(
        "Host {} has the control plane of the Cluster, as its marker says; recording it. It is reset only when the Cluster is deleted",
        held.name
    );
    let finding = deleting(Reason::LastControlPlane, message);
    Plan::act(Action::RecordInitialized, finding)
}

/// `kubeadm init` succeeded on the host, for another Cluster than that of the Machine.
fn of_another_cluster(
    observed: &Observed,
    held: &Infrastructure,
    seen: &Observation,
) -> Option<Finding> {
    let owner = seen.owner.of(&observed.marker).filter(|o| o.initialized)?;
    let finding = doubt::of_another(
        ConditionType::Deleting,
        &owner.marker,
        &held.name,
        ClusterName::of(&observed.marker),
    )?;
    Some(deleting(finding.reason(), finding.message()))
}

/// `kubeadm init` succeeded on the host, and the Cluster does not know of it.
fn made_control_plane(observed: &Observed, seen: &Observation) -> bool {
    let owner = seen.owner.of(&observed.marker);
    let cluster = observed.cluster.as_ref();
    owner.is_some_and(|owner| owner.initialized)
        && cluster.is_some_and(ObservedCluster::is_unrecorded)
}

/// Whether another Machine is recorded as the one that made the control plane of its Cluster, which
/// stays.
fn has_another(observed: &Observed) -> bool {
    let cluster = observed
        .cluster
        .as_ref()
        .filter(|cluster| !cluster.deleting);
    let by = cluster.and_then(|cluster| cluster.initialized_by.as_ref());
    by.is_some_and(|by| by != observed.uid())
}

/// The host does not answer and is off: nothing of it runs any more, so its Node may go. The Host
/// keeps its claim and its marker until it was reset. That it is off is read just now.
fn fenced(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    let proof = match &held.power {
        Some(Ok(state)) => Proof::of_power(observed.uid(), *state)
            .ok_or_else(|| format!("its BMC reports {state}")),
        Some(Err(why)) => Err(why.clone()),
        None => Err("its BMC was not queried".into()),
    };
    let proof = match proof {
        Ok(proof) => proof,
        Err(why) => {
            let name = &held.name;
            let message =
                format!("Host {name} was off, but its BMC no longer confirms that: {why}");
            return Plan::waiting(deleting(Reason::WaitingForHost, message));
        }
    };
    let message = format!(
        "the BMC of Host {} reports that it is off: nothing of this Machine runs any more, and the Machine is removed. The Host \
         stays quarantined until it is reset or reinstalled",
        held.name
    );
    let state = format!("Host {} is off", held.name);
    unreset(
        observed,
        &proof,
        &state,
        deleting(Reason::HostFenced, message),
        now,
    )
}

/// The Node of a host that is not reset is not deleted: its pods would start elsewhere as well.
pub fn kept(observed: &Observed) -> String {
    match observed.known_node() {
        Some(node) if !cluster_goes(observed) => format!(", and Node {} is kept", node.name),
        _ => String::new(),
    }
}

/// What is unsafe about a host that is not reset, and who must do what.
fn not_reset(
    observed: &Observed,
    held: &Infrastructure,
    what: &str,
    end: Option<Timestamp>,
) -> String {
    let kept = kept(observed);
    let end = match end {
        Some(end) => format!(
            "This Machine will be removed at {end:.0}, as set by spec.deletion.hostReleaseTimeoutSeconds{}",
            turn_stays(observed)
        ),
        None => match held.stuck {
            Some(Stuck::Silent(_)) if is_mendable(held) => format!(
                "Fix that first. Only if the server is destroyed, erased or disconnected for good: {}",
                host_is_gone(observed)
            ),
            Some(Stuck::Silent(_)) if reason(held) == Some(Reason::HostHangs) => format!(
                "Its server is on, and hangs. Reboot it, or cut its power; it is reset when it answers. Only when it is off and stays off: {}",
                time_limit(observed)
            ),
            // kubeadm init may run there: of that a time limit says nothing
            Some(Stuck::Silent(_)) if observed.has_turn() => format!(
                "Only if the server is destroyed, erased or disconnected for good: {}",
                host_is_gone(observed)
            ),
            Some(Stuck::Silent(_)) => format!(
                "Power it on. Only if it is destroyed, erased or disconnected for good: {}. Only if it is off for good: {}",
                host_is_gone(observed),
                time_limit(observed)
            ),
            _ => format!(
                "Fix that first. Only when the power of its server is cut, and it stays off: {}",
                time_limit(observed)
            ),
        },
    };
    format!(
        "Host {} {what}. It may still run its pods{kept}. Its reset is tried again. {end}",
        held.name
    )
}

/// Something answers there, or could be asked: what is in the way is another thing than a server
/// that is off.
fn is_mendable(held: &Infrastructure) -> bool {
    reason(held).is_some_and(|reason| {
        !matches!(
            reason,
            Reason::SshUnreachable | Reason::SshDisconnected | Reason::HostHangs
        )
    })
}

fn reason(held: &Infrastructure) -> Option<Reason> {
    held.why
        .as_ref()
        .and_then(|(reason, _)| Reason::parse(reason))
}

/// The command with which the user authorises abandoning a machine that does not answer.
pub fn time_limit(observed: &Observed) -> String {
    format!(
        "{}. 60 s after its deletion, at once where those have passed, this \
         Machine is removed, and its pods may start elsewhere{}",
        remedy::machine::limit_release(&observed.marker.namespace, &observed.machine.name_any()),
        turn_stays(observed)
    )
}

/// That a time limit proves nothing, which matters to the Machine that may have run `kubeadm init`.
fn turn_stays(observed: &Observed) -> String {
    if !observed.has_turn() {
        return String::new();
    }
    format!(
        "; the time limit does not return the control-plane turn, this command does: {}",
        host_is_gone(observed)
    )
}
