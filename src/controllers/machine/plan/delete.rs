//! The way out: drain → let go of the host → Node deleted → finalizer.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::super::observed::{Held, Observed, Placement, Seen};
use super::{Action, Plan, known_node};
use crate::api::conditions::Finding;
use crate::api::names::{ANNOTATION_EXCLUDE_DRAIN, FINALIZER_MACHINE};
use crate::controllers::Next;

/// How soon a drain is looked at again: pods end by themselves, and we do not watch pods.
const DRAIN_AGAIN: Duration = Duration::from_secs(1);

/// The next step of a Machine that is being deleted.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    if !observed
        .machine
        .finalizers()
        .iter()
        .any(|f| f == FINALIZER_MACHINE)
    {
        return Plan::default();
    }
    if let Some(finding) = must_wait(observed) {
        return Plan::waiting(finding);
    }
    match &observed.placement {
        Placement::Held(held) if held.releasing => released(observed, held, now),
        Placement::Held(held) => let_go(observed, held, now),
        Placement::None(_) => gone(observed),
    }
}

fn deleting(reason: &'static str, message: impl Into<String>) -> Finding {
    Finding::yes("Deleting", reason, message)
}

/// Control-plane machines go last, and the last one goes only with its Cluster.
fn must_wait(observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
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
    let release = Plan::act(
        Action::Release,
        deleting("Releasing", format!("letting go of {}", held.name)),
    );
    let excluded = observed
        .machine
        .annotations()
        .contains_key(ANNOTATION_EXCLUDE_DRAIN);
    let Some(node) = known_node(observed) else {
        if let (Seen::Unknown(why) | Seen::NotYet(why), false, true) =
            (&observed.node, cluster_goes(observed), was_node(observed))
        {
            let limit = observed
                .machine
                .spec
                .deletion
                .as_ref()
                .and_then(|d| d.node_drain_timeout_seconds);
            if !expired(observed, limit, now) {
                let finding = deleting(
                    "WaitingForApi",
                    format!(
                        "the Node cannot be drained: {why}; set spec.deletion.nodeDrainTimeoutSeconds, or the annotation {ANNOTATION_EXCLUDE_DRAIN}, to go on without"
                    ),
                );
                return Plan {
                    next: Next::After(Duration::from_secs(10)),
                    ..Plan::waiting(finding)
                };
            }
        }
        return release;
    };
    let limit = observed
        .machine
        .spec
        .deletion
        .as_ref()
        .and_then(|d| d.node_drain_timeout_seconds);
    if excluded || cluster_goes(observed) || expired(observed, limit, now) {
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

fn was_node(observed: &Observed) -> bool {
    observed
        .machine
        .status
        .as_ref()
        .is_some_and(|status| status.node_ref.is_some())
}

fn released(observed: &Observed, held: &Held, now: Timestamp) -> Plan {
    let limit = observed
        .machine
        .spec
        .deletion
        .as_ref()
        .and_then(|d| d.host_release_timeout_seconds);
    if expired(observed, limit, now) && limit.is_some() {
        return gone(observed);
    }
    let again = match limit {
        Some(_) => Next::After(Duration::from_secs(5)),
        None => Next::OnChange,
    };
    let finding = deleting(
        "WaitingForHost",
        format!(
            "Host {} is being reset; its conditions say how far that is",
            held.name
        ),
    );
    Plan {
        next: again,
        ..Plan::waiting(finding)
    }
}

/// Nothing is held any more: the Node and the Machine may go.
fn gone(observed: &Observed) -> Plan {
    let mut plan = Plan {
        findings: vec![deleting("Finishing", "")],
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
    if observed.has_turn() {
        plan.actions.push(Action::ReturnTurn);
    }
    plan.actions.push(Action::RemoveFinalizer);
    plan
}

/// Whether more than `limit` seconds have passed since the deletion began. No limit never expires.
pub fn expired(observed: &Observed, limit: Option<i64>, now: Timestamp) -> bool {
    let since = observed
        .machine
        .metadata
        .deletion_timestamp
        .as_ref()
        .map(|time| time.0);
    match (limit, since) {
        (Some(limit), Some(since)) if limit > 0 => {
            now.duration_since(since) >= SignedDuration::from_secs(limit)
        }
        _ => false,
    }
}
