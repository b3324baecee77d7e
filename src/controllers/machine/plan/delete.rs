//! The way out: drain → let go of the host → Node deleted → finalizer.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Held, Observed, Placement, Seen, Stuck, VirtualMachine};
use super::{Action, Plan, known_node};
use crate::api::conditions::Finding;
use crate::api::names::ANNOTATION_EXCLUDE_DRAIN;
use crate::controllers::Next;

/// How soon an eviction that was refused is tried again, as `kubectl drain` does. That a pod has gone is
/// heard at once.
const DRAIN_AGAIN: Duration = Duration::from_secs(5);
/// How soon an API that does not answer is looked at again; a timeout may have passed by then.
const API_AGAIN: Duration = Duration::from_secs(10);
/// How soon a gateway that did not end a virtual machine is asked again.
const RELEASE_AGAIN: Duration = Duration::from_secs(10);

/// The next step of a Machine that is being deleted.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if !observed.is_adopted() {
        return Plan::default();
    }
    if let Some(finding) = must_wait(observed) {
        return Plan::waiting(finding);
    }
    match &observed.placement {
        Placement::Held(held) if held.releasing => released(observed, held, now),
        Placement::Held(held) => let_go(observed, held, now),
        Placement::None(_) => match &observed.claiming {
            Some(host) => Plan::waiting(deleting(
                "WaitingForHost",
                format!("claimed Host {host}; waiting to see it, to let go of it"),
            )),
            None => match silent_api(observed, now) {
                Some(why) => waiting_for_api(&format!(
                    "no host is held any more; the Node cannot be deleted: {why}"
                )),
                None => no_host_left(observed, now),
            },
        },
    }
}

fn deleting(reason: &'static str, message: impl Into<String>) -> Finding {
    Finding::yes("Deleting", reason, message)
}

/// Nobody is sent to a cluster that goes: its ClusterProfile goes before any of its machines. Control-plane
/// machines go last, and the last one goes only with its Cluster.
fn must_wait(observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    if cluster.deleting && cluster.published {
        return Some(deleting(
            "WaitingForClusterProfile",
            format!("the ClusterProfile of Cluster {} goes first", cluster.name),
        ));
    }
    if !observed.machine.is_control_plane() {
        return None;
    }
    if cluster.deleting {
        return (cluster.workers_left > 0).then(|| {
            deleting(
                "WaitingForWorkers",
                format!(
                    "{} worker Machines of Cluster {} go first",
                    cluster.workers_left, cluster.name
                ),
            )
        });
    }
    observed.is_initializer().then(|| {
        deleting(
            "LastControlPlane",
            format!("this is the last control-plane Machine of Cluster {}; it holds the only copy of the cluster's state and goes only when the Cluster is deleted", cluster.name),
        )
    })
}

/// Whether the whole cluster goes: then nothing needs to be moved to other nodes.
fn cluster_goes(observed: &Observed) -> bool {
    observed
        .cluster
        .as_ref()
        .is_none_or(|cluster| cluster.deleting)
}

fn let_go(observed: &Observed, held: &Held, now: Timestamp) -> Plan {
    if is_given_up(observed, Some(held), now) {
        return gone(observed, HostIs::NotReset);
    }
    let release = Plan::act(
        Action::Release,
        deleting("Releasing", format!("letting go of {}", held.name)),
    );
    if let Some(why) = silent_api(observed, now) {
        return waiting_for_api(&format!("the Node cannot be drained: {why}"));
    }
    let Some(node) = known_node(observed) else {
        return release;
    };
    if is_excluded(observed)
        || cluster_goes(observed)
        || expired(observed, drain_limit(observed), now)
    {
        return release;
    }
    Plan {
        // Each waits for the one before: the host is let go only when nothing is left to move.
        actions: vec![
            Action::Drain {
                node: node.name.clone(),
                uid: node.uid.clone(),
            },
            Action::AwaitVolumes {
                node: node.name.clone(),
            },
            Action::Release,
        ],
        findings: vec![deleting(
            "Draining",
            format!("evicting the pods of Node {}", node.name),
        )],
        next: Next::After(DRAIN_AGAIN),
        ..Plan::default()
    }
}

/// What its gateway does not show may still be in the making, or have left its disks: the gateway is asked to end it
/// all the same, and answers once nothing of it is left.
fn no_host_left(observed: &Observed, now: Timestamp) -> Plan {
    if observed.virtual_machine.is_none() {
        return gone(observed, HostIs::Free);
    }
    if is_given_up(observed, None, now) {
        return gone(observed, HostIs::NotReset);
    }
    let mut plan = gone(observed, HostIs::Free);
    plan.actions.insert(0, Action::Release);
    plan.next = Next::After(RELEASE_AGAIN);
    plan
}

/// Nobody can end a virtual machine whose hypervisor is away, or refuses it: the time limit is the user's word for it.
fn is_given_up(observed: &Observed, held: Option<&Held>, now: Timestamp) -> bool {
    let refused = |machine: &VirtualMachine| {
        let refused = machine.tried.refused.as_ref();
        refused.is_some_and(|finding| finding.condition == "Deleting")
    };
    let since = match held.and_then(|held| held.stuck) {
        Some(Stuck::Silent(since)) => Some(since),
        _ if observed.virtual_machine.as_ref().is_some_and(refused) => deleted_at(observed),
        _ => None,
    };
    let end = since.and_then(|since| release_end(observed, since, now));
    end.is_some_and(|end| end <= now)
}

/// The host is being reset. One that does not answer, or whose reset fails, is not, and then nothing says
/// that its pods have ended: the Machine and its Node stay until the time limit, which is the user's word
/// for it.
fn released(observed: &Observed, held: &Held, now: Timestamp) -> Plan {
    let since = match held.stuck {
        Some(Stuck::Fenced) => return fenced(observed, held, now),
        Some(Stuck::Retained) => return retained(observed, held, now),
        Some(Stuck::Silent(since)) => since,
        Some(Stuck::ResetFails) => deleted_at(observed).unwrap_or(now),
        None => {
            return Plan::waiting(deleting(
                "WaitingForHost",
                format!(
                    "Host {} is being reset; its conditions say how far that is",
                    held.name
                ),
            ));
        }
    };
    let end = release_end(observed, since, now);
    if end.is_some_and(|end| end <= now) {
        return gone(observed, HostIs::NotReset);
    }
    let (reason, what) = match held.stuck {
        Some(Stuck::Silent(_)) => (
            "HostUnreachable",
            format!("does not answer since {since:.0}"),
        ),
        _ => (
            "ResetFailed",
            "could not be reset yet, and its conditions say why".to_owned(),
        ),
    };
    let finding = deleting(reason, not_reset(observed, held, &what, end));
    Plan {
        next: Next::at(end, now),
        ..Plan::waiting(finding)
    }
}

/// When a host that has not answered `since` then is given up, by the user's time limit; it counts from the
/// deletion at the earliest.
fn release_end(observed: &Observed, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let deletion = observed.machine.spec.deletion.as_ref();
    let limit = deletion.and_then(|deletion| deletion.host_release_timeout_seconds);
    let since = since.max(deleted_at(observed).unwrap_or(now));
    limit
        .filter(|limit| *limit > 0)
        .and_then(|limit| since.checked_add(SignedDuration::from_secs(limit)).ok())
}

/// The host does not answer and is off: nothing of it runs any more, so its Node may go. The Host keeps its claim
/// and its marker until it was reset.
fn fenced(observed: &Observed, held: &Held, now: Timestamp) -> Plan {
    let message = format!(
        "the BMC of Host {} says that it is off: nothing of this Machine runs any more, and it goes. The Host \
         stays quarantined until it was reset or installed anew",
        held.name
    );
    let state = format!("Host {} is off", held.name);
    unreset(observed, &state, deleting("HostFenced", message), now)
}

/// The kubelet is stopped for good, and by the user's wish nothing else is undone: the Host keeps its claim and its marker.
fn retained(observed: &Observed, held: &Held, now: Timestamp) -> Plan {
    let message = format!(
        "the kubelet of Host {} is stopped, and nothing else is undone, as its spec.wipePolicy says; this Machine goes",
        held.name
    );
    let state = format!("Host {} is retained", held.name);
    unreset(observed, &state, deleting("HostRetained", message), now)
}

/// Node and Machine go, while the host is not reset.
fn unreset(observed: &Observed, state: &str, why: Finding, now: Timestamp) -> Plan {
    if let Some(silent) = silent_api(observed, now) {
        return waiting_for_api(&format!(
            "{state}, and the Node cannot be deleted: {silent}"
        ));
    }
    Plan {
        findings: vec![why],
        ..gone(observed, HostIs::NotReset)
    }
}

/// What is unsafe about a host that is not reset, and who must do what.
fn not_reset(observed: &Observed, held: &Held, what: &str, end: Option<Timestamp>) -> String {
    let kept = match known_node(observed) {
        Some(node) if !cluster_goes(observed) => format!(
            ", and Node {} is kept: without it pods and volumes that may be in use only once would start elsewhere",
            node.name
        ),
        _ => String::new(),
    };
    let end = match end {
        Some(end) => format!(
            "this Machine goes at {end:.0}, by spec.deletion.hostReleaseTimeoutSeconds"
        ),
        None => "if the server runs nothing any more, set spec.deletion.hostReleaseTimeoutSeconds of this Machine, and it goes after that time".into(),
    };
    format!(
        "Host {} {what}, so it may still run its pods{kept}. The Host stays quarantined, and its reset is tried again; {end}",
        held.name
    )
}

/// What became of the host of a Machine that goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostIs {
    /// It was reset, or there never was one.
    Free,
    /// It did not answer in time, and keeps its claim and its marker.
    NotReset,
}

/// Why the Node, which was there, cannot be looked at; nothing where nobody has to wait for that.
fn silent_api(observed: &Observed, now: Timestamp) -> Option<&str> {
    let (Seen::Unknown(why) | Seen::NotYet(why)) = &observed.node else {
        return None;
    };
    let waits = observed.had_node()
        && !cluster_goes(observed)
        && !is_excluded(observed)
        && !expired(observed, drain_limit(observed), now);
    waits.then_some(why)
}

fn waiting_for_api(what: &str) -> Plan {
    let message = format!(
        "{what}; set spec.deletion.nodeDrainTimeoutSeconds, or the annotation {ANNOTATION_EXCLUDE_DRAIN}, to go on without"
    );
    Plan {
        next: Next::After(API_AGAIN),
        ..Plan::waiting(deleting("WaitingForApi", message))
    }
}

fn is_excluded(observed: &Observed) -> bool {
    let annotations = observed.machine.annotations();
    annotations.contains_key(ANNOTATION_EXCLUDE_DRAIN)
}

/// How long a drain may take, in seconds.
fn drain_limit(observed: &Observed) -> Option<i64> {
    let deletion = observed.machine.spec.deletion.as_ref();
    deletion.and_then(|deletion| deletion.node_drain_timeout_seconds)
}

/// Nothing is held any more: the Node and the Machine may go.
fn gone(observed: &Observed, host: HostIs) -> Plan {
    let mut plan = Plan {
        findings: vec![deleting("Finishing", "nothing is held any more")],
        ..Plan::default()
    };
    // somebody else's control plane outlives its Cluster, and with it what we leave there
    let external = observed.cluster.as_ref().is_some_and(|c| c.external);
    if let (Some(node), true) = (known_node(observed), external || !cluster_goes(observed)) {
        plan.actions.push(Action::DeleteNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    // A host that was not reset may have run, or may yet run, `kubeadm init`: the turn stays until it is.
    if observed.has_turn() && host == HostIs::Free {
        plan.actions.push(Action::ReturnTurn);
    }
    plan.actions.push(Action::RemoveFinalizer);
    plan
}

/// Whether more than `limit` seconds have passed since the deletion began. No limit never expires.
pub fn expired(observed: &Observed, limit: Option<i64>, now: Timestamp) -> bool {
    match (limit, deleted_at(observed)) {
        (Some(limit), Some(since)) if limit > 0 => {
            now.duration_since(since) >= SignedDuration::from_secs(limit)
        }
        _ => false,
    }
}

fn deleted_at(observed: &Observed) -> Option<Timestamp> {
    let deleted = observed.machine.metadata.deletion_timestamp.as_ref();
    deleted.map(|time| time.0)
}
