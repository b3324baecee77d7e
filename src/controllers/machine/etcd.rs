//! What is read live of etcd just before a control-plane machine joins it, leaves it, or returns
//! its turn.

use std::sync::Arc;

use futures::future::join;
use kube::ResourceExt;

use super::perform::not_yet;
use super::{Machines, record, turn};
use crate::engine::{ActionOutcome, ReconcileError};
use tatara_core::api::Cluster;
use tatara_core::api::cluster::TurnAction;
use tatara_core::api::conditions::Finding;
use tatara_core::control_plane::{Member, Members};
use tatara_core::machine::Observed;
use tatara_core::machine::live;
use tatara_core::machine::live::etcd::Removal;
use tatara_core::machine::plan::update;
use tatara_core::node::JobKind;
use tatara_core::proof::TurnIsOver;

/// Requires that etcd takes one more member, that the Machine still has the turn, and that kubeadm
/// has recorded its version. A finding says why it may not join now.
///
/// # Errors
/// Those of [`turn::hold`] and [`record::prepare`].
pub(super) async fn may_join(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    if let Some(doubt) = turn::hold(&controller.turns, observed, TurnAction::Join).await? {
        return Ok(Some(doubt));
    }
    let cluster = cluster(controller, observed)?;
    let read = controller.control_planes.look(&cluster).await;
    let members = match live::etcd::may_join(observed, listed(&read)) {
        Ok(members) => members,
        Err(finding) => return Ok(Some(finding)),
    };
    // the look may have lasted
    let cluster = self::cluster(controller, observed)?;
    let refused = record::prepare(controller, observed, &cluster, members).await?;
    let over = live::etcd::end_of_refused(observed, members);
    if let Some(over) = over.filter(|_| refused.is_some()) {
        turn::give_back(&controller.turns, &observed.marker, &over).await?;
    }
    Ok(refused)
}

/// Requires that kubeadm's record of the cluster lets the Machine join.
///
/// # Errors
/// Those of [`record::refuses`].
pub(super) async fn await_record(
    controller: &Machines,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let cluster = cluster(controller, observed)?;
    let refused = record::refuses(controller, observed, &cluster).await?;
    Ok(not_yet(refused))
}

/// Requires that etcd can do without the member of the Machine for a while, that the Machine still
/// has the turn, and that what kubeadm renders static pods by is the Cluster's.
///
/// # Errors
/// Those of [`turn::hold`] and [`record::before_update`].
pub(super) async fn may_upgrade(
    controller: &Machines,
    observed: &Observed,
    job: JobKind,
) -> Result<Option<Finding>, ReconcileError> {
    if let Some(doubt) = turn::hold(&controller.turns, observed, TurnAction::Upgrade).await? {
        return Ok(Some(doubt));
    }
    let planes = &controller.control_planes;
    let cluster = cluster(controller, observed)?;
    let members = planes.look(&cluster).await;
    let members = members.as_ref().map_err(Clone::clone);
    if let Err(finding) = update::may_restart(observed, members) {
        return Ok(Some(finding));
    }
    if !live::record::is_rendered_by(job) {
        return Ok(None);
    }
    record::before_update(controller, observed, &cluster).await
}

/// Removes a member, if etcd can do without it now. Leadership is moved before.
///
/// # Errors
/// Those of [`turn::hold`].
pub(super) async fn remove(
    controller: &Machines,
    observed: &Observed,
    member: &Member,
) -> Result<ActionOutcome, ReconcileError> {
    let action = live::turn::of_removal(observed);
    if let Some(doubt) = turn::hold(&controller.turns, observed, action).await? {
        return Ok(ActionOutcome::NotYet(doubt));
    }
    let cluster = cluster(controller, observed)?;
    let planes = &controller.control_planes;
    let members = planes.look(&cluster).await;
    match live::etcd::may_remove(observed, member, listed(&members)) {
        Ok(Removal::Begins(members)) => {
            let removed = begin_removal(controller, observed, (&cluster, members), member).await?;
            Ok(not_yet(removed.err()))
        }
        Ok(Removal::IsOver) => Ok(ActionOutcome::Yes),
        Err(finding) => Ok(ActionOutcome::NotYet(finding)),
    }
}

/// An inner error says why the member is not removed yet.
async fn begin_removal(
    controller: &Machines,
    observed: &Observed,
    (cluster, members): (&Cluster, &Members),
    member: &Member,
) -> Result<Result<(), Finding>, ReconcileError> {
    controller.base.engine.must_lead()?;
    let planes = &controller.control_planes;
    let moved = planes.hand_over(cluster, members, member.id).await;
    if let Err(finding) = live::etcd::was_moved(observed, moved.map_err(|silence| silence.0)) {
        return Ok(Err(finding));
    }
    let removed = planes.remove(cluster, members, member.id).await;
    planes.look(cluster).await.ok();
    let removed = removed.map_err(|silence| silence.0);
    let removed = live::etcd::was_removed(observed, member, removed);
    if removed.is_ok() {
        tracing::info!(cluster = observed.marker.cluster, machine = observed.marker.machine, member = %member.id, "removed an etcd member");
    }
    Ok(removed)
}

/// Requires, before the place of a Machine is released, that etcd has no member of it. A finding
/// says what it has.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted.
pub(super) async fn may_release(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    if !live::etcd::is_asked_before_release(observed) {
        return Ok(None);
    }
    let cluster = cluster(controller, observed)?;
    let members = controller.control_planes.look(&cluster).await;
    Ok(live::etcd::may_release(observed, listed(&members)).err())
}

/// Requires that the components of the control plane on its machine serve now, its etcd member
/// among them.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted.
pub(super) async fn await_components(
    controller: &Machines,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let cluster = cluster(controller, observed)?;
    let planes = &controller.control_planes;
    let asking = planes.ask_components_of(&cluster, &observed.marker.uid);
    let (members, answers) = join(planes.look(&cluster), asking).await;
    planes.remember_also(&cluster, answers, &members);
    let known = controller
        .workloads
        .known
        .get(&cluster.uid().unwrap_or_default());
    let asked = known.components.get(&observed.marker.uid);
    let why = update::unwell(observed, asked.map(AsRef::as_ref));
    Ok(not_yet(why.map(live::etcd::unwell)))
}

/// Returns the turn, if a list that was read just now proves the same.
///
/// # Errors
/// Those of [`turn::give_back`].
pub(super) async fn return_turn(
    controller: &Machines,
    observed: &Observed,
    over: &TurnIsOver,
) -> Result<ActionOutcome, ReconcileError> {
    if let TurnIsOver::Member(proof) = over {
        let cluster = cluster(controller, observed)?;
        let members = controller.control_planes.look_once(&cluster).await;
        let outcome = live::etcd::may_return(observed, proof, listed(&members));
        if let Some(finding) = turn::finding(outcome, "return the control-plane turn")? {
            return Ok(ActionOutcome::NotYet(finding));
        }
    }
    turn::give_back(&controller.turns, &observed.marker, over)
        .await
        .map(|()| ActionOutcome::Yes)
}

fn cluster(controller: &Machines, observed: &Observed) -> Result<Arc<Cluster>, ReconcileError> {
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let cluster = controller.base.stores().clusters.get(namespace, name);
    cluster.ok_or_else(|| ReconcileError::other("ask etcd", "the Cluster was deleted"))
}

fn listed(members: &Result<Arc<Members>, String>) -> live::etcd::Read<'_> {
    members.as_deref().map_err(Clone::clone)
}
