//! What is done to the Node of a Machine, in its own cluster.

use kube::ResourceExt as _;

use super::execute::Done;
use super::observed::{Observed, Placement, Stuck};
use super::plan::{expired, running};
use crate::api::conditions::Finding;
use crate::controllers::{Chain, ReconcileError};
use crate::manager::Context;
use crate::redfish::PowerState;
use crate::store::Key;
use crate::workload;

/// The API of the Machine's cluster.
fn member(
    context: &Context,
    observed: &Observed,
) -> Result<std::sync::Arc<workload::Member>, ReconcileError> {
    let cluster = context
        .stores
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    cluster
        .and_then(|cluster| context.member(&cluster))
        .ok_or_else(|| ReconcileError::other("reach the cluster of a Machine", "not connected"))
}

/// Brings labels, annotations and taints of the Node to what the Machine says.
pub async fn update_node(
    context: &Context,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<Done, ReconcileError> {
    let member = member(context, observed)?;
    workload::nodes::change(member.client(), node, uid, &running::wanted(observed))
        .await
        .map_err(|error| ReconcileError::other(format!("update Node {node}"), Chain(&error)))?;
    Ok(Done::Yes)
}

/// One look at a drain: cordons, evicts, and says what is left.
pub async fn drain(
    context: &Context,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<Done, ReconcileError> {
    let member = member(context, observed)?;
    let failed =
        |error: workload::Error| ReconcileError::other(format!("drain Node {node}"), Chain(&error));
    workload::nodes::cordon(member.client(), node, uid)
        .await
        .map_err(failed)?;
    let unreachable = member.node(node).is_some_and(|view| view.is_unreachable());
    let progress = workload::drain::drain(member.client(), node, unreachable, crate::clock::now())
        .await
        .map_err(failed)?;
    if progress.is_done() {
        Ok(Done::Yes)
    } else {
        let (waker, machine) = (context.wakers.machines.clone(), observed.machine.clone());
        context.drains.start(
            observed.uid(),
            member.client().clone(),
            node,
            progress.version.clone(),
            Box::new(move || waker.wake_object(&machine)),
        );
        let reason = if progress.blocked.is_empty() {
            "Draining"
        } else {
            "DrainBlocked"
        };
        Ok(Done::NotYet(Finding::yes(
            "Deleting",
            reason,
            progress.to_string(),
        )))
    }
}

/// Whether volumes are still attached, and not given up waiting for.
pub async fn await_volumes(
    context: &Context,
    observed: &Observed,
    node: &str,
) -> Result<Done, ReconcileError> {
    let member = member(context, observed)?;
    let attached = workload::volumes::still_attached(member.client(), node, crate::clock::now())
        .await
        .map_err(|error| {
            ReconcileError::other(format!("read the volumes of Node {node}"), Chain(&error))
        })?;
    if attached.is_empty() {
        return Ok(Done::Yes);
    }
    let limit = observed
        .machine
        .spec
        .deletion
        .as_ref()
        .and_then(|d| d.node_volume_detach_timeout_seconds);
    if expired(observed, limit, crate::clock::now()) {
        return Ok(Done::Yes);
    }
    Ok(Done::NotYet(Finding::yes(
        "Deleting",
        "WaitingForVolumes",
        format!("still attached to Node {node}: {}", attached.join(", ")),
    )))
}

/// Deletes the Node, if it is still this one.
pub async fn delete_node(
    context: &Context,
    observed: &Observed,
    node: &str,
    uid: &str,
) -> Result<Done, ReconcileError> {
    if let Some(doubt) = runs_again(context, observed).await {
        return Ok(Done::NotYet(doubt));
    }
    let member = member(context, observed)?;
    workload::nodes::delete(member.client(), node, uid)
        .await
        .map_err(|error| ReconcileError::other(format!("delete Node {node}"), Chain(&error)))?;
    Ok(Done::Yes)
}

/// What its BMC says now of a host that was fenced, unless that it is off. That it was off may have been heard long ago,
/// by another manager even; without their Node, pods that run on it would start elsewhere, too.
async fn runs_again(context: &Context, observed: &Observed) -> Option<Finding> {
    let is_fenced =
        matches!(&observed.placement, Placement::Held(held) if held.stuck == Some(Stuck::Fenced));
    let claim = Key::Claim(observed.uid().to_owned());
    let host = context
        .stores
        .hosts
        .by(&claim)
        .pop()
        .filter(|_| is_fenced)?;
    let said = match context.bmcs.power(&host, crate::clock::now()).await.power {
        Ok(PowerState::Off) => return None,
        Ok(state) => format!("it says {state}"),
        Err(error) => error.message,
    };
    // its own controller finds out what it is now, and that wakes us
    context.wakers.hosts.wake_object(&host);
    let message = format!(
        "Host {} was off, and its BMC does not say so any more: {said}",
        host.name_any()
    );
    Some(Finding::yes("Deleting", "WaitingForHost", message))
}
