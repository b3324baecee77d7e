//! Operations on the Node of a Machine, in its workload cluster. What is read live before decides
//! nothing here: see [`tatara_core::machine::live::node`].

use std::sync::Arc;

use super::Machines;
use super::perform::must_be_about;
use crate::engine::{ActionOutcome, Chain, ReconcileError};
use crate::workload;
use tatara_core::api::conditions::Finding;
use tatara_core::machine::live::node::{self as live, NodeFacts, Wait};
use tatara_core::machine::plan::marks;
use tatara_core::machine::{Observed, Placement};
use tatara_core::node_change::{NodeChange, Scheduling};
use tatara_core::planner::drains;
use tatara_core::proof::Over;
use tatara_core::{Key, NodeView};

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
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses the update or
/// does not answer.
pub async fn update_node(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let wanted = marks::wanted(observed);
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
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses a request or does
/// not answer.
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
    let view = workload.node(node);
    let facts = facts(controller, observed, (node, view.as_deref()));
    let wait = live::drained(observed, facts, &progress, unreachable);
    if let Wait::Lasts(_) = &wait {
        let (waker, machine) = (
            controller.base.wakers.machines.clone(),
            observed.machine.clone(),
        );
        controller.drains.start(
            observed.uid(),
            workload.client().clone(),
            node,
            progress.version,
            Box::new(move || waker.wake_object(&machine)),
        );
    }
    Ok(outcome(wait))
}

fn outcome(wait: Wait) -> ActionOutcome {
    match wait {
        Wait::Over => ActionOutcome::Yes,
        Wait::Ends(finding) => ActionOutcome::Noted(finding),
        Wait::Lasts(finding) => ActionOutcome::NotYet(finding),
    }
}

/// What is known of a Node beside a reading of it.
fn facts<'a>(
    controller: &Machines,
    observed: &Observed,
    (name, view): (&'a str, Option<&'a NodeView>),
) -> NodeFacts<'a> {
    let hosts = &controller.base.stores().hosts;
    let host = match &observed.placement {
        Placement::Held(held) => hosts.get(&observed.marker.namespace, &held.name),
        Placement::None(_) => None,
    };
    let has_bmc = host.is_some_and(|host| host.spec.bmc.is_some());
    NodeFacts {
        name,
        view,
        has_bmc,
    }
}

/// Cordons the Node; for an update, if none is drained that excludes it, read live. A finding says
/// which one is.
async fn cordon(
    controller: &Machines,
    observed: &Observed,
    workload: &workload::WorkloadCluster,
    (node, uid): (&str, &str),
) -> Result<Option<Finding>, ReconcileError> {
    let failed =
        |error: workload::Error| ReconcileError::other(format!("drain Node {node}"), Chain(&error));
    let excludes = live::is_exclusive(observed, workload.node(node).as_deref());
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
        let begun = drains::begun(&observed.machine, others.iter().map(AsRef::as_ref));
        for (other, name) in begun {
            let read = workload::nodes::read(workload.client(), name).await;
            let read = read.map_err(failed)?;
            if let Err(finding) = live::may_cordon(observed, other, read.as_ref()) {
                return Ok(Some(finding));
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

/// Uncordons the Node, if it was cordoned by Tatara. What else a control plane that stays needs
/// does not depend on it.
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
/// `ReconcileError::Other` when the workload cluster is not connected, or the volumes cannot be
/// read.
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
    let view = workload.node(node);
    let facts = facts(controller, observed, (node, view.as_deref()));
    let wait = live::detached(observed, facts, &attached, crate::clock::now());
    Ok(outcome(wait))
}

/// Deletes the Node, if its UID is unchanged.
///
/// # Errors
/// `ReconcileError::Other` when `over` is about another Machine, or the workload cluster is not
/// connected or refuses.
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

/// Deletes the Node of a Machine that does not exist, if its UID is unchanged and it is not Ready,
/// read live.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster is not connected, or refuses a request or does
/// not answer.
pub async fn delete_left_node(
    controller: &Machines,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let workload = connected(controller, observed)?;
    let read = workload::nodes::read(workload.client(), node)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    if let Err(finding) = live::may_delete_left(node, read.as_ref()) {
        return Ok(ActionOutcome::NotYet(finding));
    }
    workload::nodes::delete(workload.client(), node, uid)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    Ok(ActionOutcome::Yes)
}
