//! Operations on the Node of a Machine, in its workload cluster.

use std::sync::Arc;

use kube::ResourceExt;

use super::Machines;
use super::perform::must_be_about;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::Key;
use crate::core::machine::plan::{dead, drain, running, unanswered, update};
use crate::core::machine::{Observed, Placement, apart};
use crate::core::node_change::{NodeChange, Scheduling};
use crate::core::proof::Over;
use crate::core::words;
use crate::engine::{ActionOutcome, Chain, ReconcileError};
use crate::workload;

/// The API of the Machine's cluster.
fn connected(
    controller: &Machines,
    observed: &Observed,
) -> Result<Arc<workload::WorkloadCluster>, ReconcileError> {
    let cluster = controller
        .base
        .stores()
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    cluster
        .and_then(|cluster| controller.workloads.get(&cluster))
        .ok_or_else(|| ReconcileError::other("reach the cluster of a Machine", "not connected"))
}

/// Updates labels, annotations and taints of the Node from the Machine.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses the update or does not answer.
pub async fn update_node(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let wanted = running::wanted(observed);
    change(controller, observed, (node, uid), &wanted, "update").await?;
    Ok(ActionOutcome::Yes)
}

async fn change(
    controller: &Machines,
    observed: &Observed,
    (node, uid): (&str, &str),
    wanted: &NodeChange,
    verb: &str,
) -> Result<(), ReconcileError> {
    let workload = connected(controller, observed)?;
    let written = workload::nodes::change(workload.client(), node, uid, wanted).await;
    written
        .map(drop)
        .map_err(|error| ReconcileError::other(format!("{verb} Node {node}"), Chain(&error)))
}

/// One step of a drain: cordons, evicts, and reports the remaining pods.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses a request or does not answer.
pub async fn drain(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let workload = connected(controller, observed)?;
    let failed =
        |error: workload::Error| ReconcileError::other(format!("drain Node {node}"), Chain(&error));
    if let Some(finding) = cordon(controller, observed, &workload, (node, uid)).await? {
        return Ok(ActionOutcome::NotYet(finding));
    }
    let unreachable = workload
        .node(node)
        .is_some_and(|view| view.is_unreachable());
    let progress =
        workload::drain::drain(workload.client(), node, unreachable, crate::clock::now())
            .await
            .map_err(failed)?;
    if progress.is_done() {
        Ok(match progress.unconfirmed(node) {
            None => ActionOutcome::Yes,
            Some(message) => ActionOutcome::Noted(Finding::no(
                ConditionType::Draining,
                Reason::PodsUnconfirmed,
                message,
            )),
        })
    } else if let Some(message) = progress
        .ended_by_release(node)
        .filter(|_| is_ended_by_release(controller, observed, &workload, node))
    {
        Ok(ActionOutcome::Noted(Finding::no(
            ConditionType::Draining,
            Reason::PodsUnconfirmed,
            message,
        )))
    } else {
        let (waker, machine) = (
            controller.base.wakers.machines.clone(),
            observed.machine.clone(),
        );
        controller.drains.start(
            observed.uid(),
            workload.client().clone(),
            node,
            progress.version.clone(),
            Box::new(move || waker.wake_object(&machine)),
        );
        let reason = if progress.blocked.is_empty() {
            Reason::Draining
        } else {
            Reason::DrainBlocked
        };
        let mut message = progress.to_string();
        if unreachable {
            message.push_str(&unanswered(observed, node));
        }
        Ok(ActionOutcome::NotYet(Finding::yes(
            ConditionType::Draining,
            reason,
            message,
        )))
    }
}

/// Whether the release of a machine that does not answer ends what runs there: nothing of its drain is then waited for.
fn is_ended_by_release(
    controller: &Machines,
    observed: &Observed,
    workload: &workload::WorkloadCluster,
    node: &str,
) -> bool {
    let Placement::Held(held) = &observed.placement else {
        return false;
    };
    let hosts = &controller.base.stores().hosts;
    let host = hosts.get(&observed.marker.namespace, &held.name);
    let has_bmc = host.is_some_and(|host| host.spec.bmc.is_some());
    let view = workload.node(node);
    view.is_some_and(|view| dead::is_ended_by_release(observed, &view, has_bmc))
}

/// Cordons the Node; for an update, if none is drained that excludes it, read live. A finding says which one is.
async fn cordon(
    controller: &Machines,
    observed: &Observed,
    workload: &workload::WorkloadCluster,
    (node, uid): (&str, &str),
) -> Result<Option<Finding>, ReconcileError> {
    let failed =
        |error: workload::Error| ReconcileError::other(format!("drain Node {node}"), Chain(&error));
    let is_cordoned = || {
        let view = workload.node(node);
        view.is_some_and(|view| view.is_cordoned_by_us())
    };
    let excludes = !observed.is_deleting() && !is_cordoned();
    let lock = controller.workloads.cordons(workload.key());
    let _held = if excludes {
        Some(lock.lock().await)
    } else {
        None
    };
    if excludes {
        let marker = &observed.marker;
        let key = Key::Cluster(marker.namespace.clone(), marker.cluster.clone());
        let others = controller.base.stores().machines.by(&key);
        let begun = apart::begun(&observed.machine, others.iter().map(AsRef::as_ref));
        for (other, name) in begun {
            let live = workload::nodes::read(workload.client(), name).await;
            if live
                .map_err(failed)?
                .is_some_and(|live| live.is_cordoned_by_us())
            {
                return Ok(Some(update::drained_after(observed, &other.name_any())));
            }
        }
        // those that were read may have been slow to answer
        controller.base.engine.must_lead()?;
    }
    let cordoned = Scheduling::Cordoned.into();
    let changed = workload::nodes::change(workload.client(), node, uid, &cordoned).await;
    changed.map_err(failed)?;
    Ok(None)
}

/// Uncordons the Node, if it was cordoned by Tatara. What else a control plane that stays needs does not depend on it.
pub async fn uncordon(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> ActionOutcome {
    let restored = Scheduling::Restored.into();
    let written = change(controller, observed, (node, uid), &restored, "uncordon").await;
    written.map_or_else(ActionOutcome::Failed, |()| ActionOutcome::Yes)
}

/// Whether all volumes are detached, or `nodeVolumeDetachTimeoutSeconds` has expired.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster is not connected, or the volumes cannot be read.
pub async fn await_volumes(
    controller: &Machines,
    observed: &Observed,
    node: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let workload = connected(controller, observed)?;
    let attached = workload::volumes::still_attached(workload.client(), node, crate::clock::now())
        .await
        .map_err(|error| {
            ReconcileError::other(format!("read the volumes of Node {node}"), Chain(&error))
        })?;
    // those of a Node that is deleted are detached
    if attached.is_empty() || is_ended_by_release(controller, observed, &workload, node) {
        return Ok(ActionOutcome::Yes);
    }
    let attached = attached.join(", ");
    if drain::volumes_have_timed_out(observed, crate::clock::now()) {
        let message = format!(
            "nodeVolumeDetachTimeoutSeconds ended the wait; the machine is released with volumes attached to Node {node}: {attached}"
        );
        return Ok(ActionOutcome::Noted(Finding::no(
            ConditionType::Draining,
            Reason::VolumeDetachTimedOut,
            message,
        )));
    }
    let marker = &observed.marker;
    let list = words::in_workload(&marker.namespace, &marker.cluster, "get volumeattachments");
    let mut message = format!(
        "still attached to Node {node}: {attached}. What holds them: {list}, and the log of the CSI attacher; spec.deletion.nodeVolumeDetachTimeoutSeconds limits the wait"
    );
    if workload
        .node(node)
        .is_some_and(|view| view.is_unreachable())
    {
        message.push_str(&unanswered(observed, node));
    }
    let finding = Finding::yes(ConditionType::Deleting, Reason::WaitingForVolumes, message);
    Ok(ActionOutcome::NotYet(finding))
}

/// Deletes the Node, if its UID is unchanged.
///
/// # Errors
/// `ReconcileError::Other` when `over` is about another Machine, or the workload cluster is not connected or refuses.
pub async fn delete_node(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
    over: &Over,
) -> Result<ActionOutcome, ReconcileError> {
    must_be_about(observed, over.is_about(observed.uid()))?;
    let workload = connected(controller, observed)?;
    workload::nodes::delete(workload.client(), node, uid)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    Ok(ActionOutcome::Yes)
}

/// Deletes the Node of a Machine that does not exist, if its UID is unchanged and it is not Ready, read live.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses a request or does not answer.
pub async fn delete_left_node(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let workload = connected(controller, observed)?;
    let live = workload::nodes::read(workload.client(), node)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    if live.is_some_and(|live| live.ready == Some(true)) {
        let message = format!("Node {node} is Ready again; it is left alone");
        let finding = Finding::no(
            ConditionType::BootstrapReady,
            Reason::NodeNameTaken,
            message,
        );
        return Ok(ActionOutcome::NotYet(finding));
    }
    workload::nodes::delete(workload.client(), node, uid)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    Ok(ActionOutcome::Yes)
}
