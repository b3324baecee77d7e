//! What is read live of etcd just before a control-plane machine joins it, leaves it, or returns its turn.

use std::sync::Arc;

use futures::future::join;
use kube::ResourceExt;

use super::{Machines, record, turn};
use crate::api::Cluster;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding, Reason, Status};
use crate::controllers::control_plane::Silence;
use crate::core::control_plane::{Change, Member, permits, quorum};
use crate::core::machine::Observed;
use crate::core::machine::plan::{BOOTSTRAP, leaving, update};
use crate::core::node::JobKind;
use crate::core::proof::TurnIsOver;
use crate::engine::{ActionOutcome, ReconcileError};

/// Requires that etcd takes one more member, that the Machine still has the turn, and that kubeadm has recorded its version. A
/// finding says why it may not join now.
///
/// # Errors
/// Those of [`turn::take`] and [`record::prepare`].
pub(super) async fn may_join(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    if let Some(doubt) = turn::take(&controller.turns, observed, TurnAction::Join).await? {
        return Ok(Some(doubt));
    }
    let members = match controller
        .control_planes
        .look(&*cluster(controller, observed)?)
        .await
    {
        Ok(members) => members,
        Err(why) => return Ok(Some(waits(observed, Reason::EtcdUnreachable, why))),
    };
    // what joining begins with would wipe its data
    if let Some(member) = observed.member(&members) {
        let message = format!(
            "etcd lists member {} at the address of this machine, which is removed before the machine joins",
            member.id
        );
        return Ok(Some(waits(observed, Reason::MemberChanging, message)));
    }
    if let Err(obstacle) = permits(&members, Change::Add) {
        return Ok(Some(waits(observed, obstacle.reason(), obstacle.message())));
    }
    let cluster = cluster(controller, observed)?;
    let refused = record::prepare(controller, observed, &cluster, &members).await?;
    // others may have to change meanwhile what it waits for
    if refused.is_some()
        && let Some(proof) = observed.member_proof(&members)
    {
        let over = TurnIsOver::Member(proof);
        turn::give_back(&controller.turns, &observed.marker, &over).await?;
    }
    Ok(refused)
}

/// Takes the turn. To join it is taken only when kubeadm's record of the cluster lets the Machine join.
///
/// # Errors
/// Those of [`turn::take`] and [`record::refuses`].
pub(super) async fn take_turn(
    controller: &Machines,
    observed: &Observed,
    action: TurnAction,
) -> Result<ActionOutcome, ReconcileError> {
    if action == TurnAction::Join {
        let cluster = cluster(controller, observed)?;
        if let Some(refused) = record::refuses(controller, observed, &cluster).await? {
            return Ok(ActionOutcome::NotYet(refused));
        }
    }
    let doubt = turn::take(&controller.turns, observed, action).await?;
    Ok(doubt.map_or(ActionOutcome::Yes, ActionOutcome::NotYet))
}

/// Requires that etcd can do without the member of the Machine for a while, that the Machine still has the turn, and that what
/// kubeadm renders static pods by is the Cluster's.
///
/// # Errors
/// Those of [`turn::take`] and [`record::before_update`].
pub(super) async fn may_upgrade(
    controller: &Machines,
    observed: &Observed,
    job: JobKind,
) -> Result<Option<Finding>, ReconcileError> {
    if let Some(doubt) = turn::take(&controller.turns, observed, TurnAction::Upgrade).await? {
        return Ok(Some(doubt));
    }
    let planes = &controller.control_planes;
    let cluster = cluster(controller, observed)?;
    let members = planes.look(&cluster).await;
    let members = members.as_ref().map_err(Clone::clone);
    if let Err(finding) = update::may_restart(observed, members) {
        return Ok(Some(finding));
    }
    if job != JobKind::Upgrade {
        return Ok(None);
    }
    record::before_update(controller, observed, &cluster).await
}

/// Removes a member, if etcd can do without it now. Leadership is moved before.
///
/// # Errors
/// Those of [`turn::take`].
pub(super) async fn remove(
    controller: &Machines,
    observed: &Observed,
    member: &Member,
) -> Result<ActionOutcome, ReconcileError> {
    let action = if observed.is_deleting() {
        TurnAction::Remove
    } else {
        TurnAction::Join
    };
    if let Some(doubt) = turn::take(&controller.turns, observed, action).await? {
        return Ok(ActionOutcome::NotYet(doubt));
    }
    let cluster = cluster(controller, observed)?;
    let not_yet = |reason, message| Ok(ActionOutcome::NotYet(waits(observed, reason, message)));
    let members = match controller.control_planes.look(&cluster).await {
        Ok(members) => members,
        Err(why) => return not_yet(Reason::EtcdUnreachable, why),
    };
    if members.get(member.id).is_none() {
        return Ok(ActionOutcome::Yes);
    }
    if let Err(obstacle) = permits(&members, Change::Remove(member.id)) {
        return not_yet(obstacle.reason(), obstacle.message());
    }
    controller.base.engine.must_lead()?;
    let planes = &controller.control_planes;
    let moved = planes.hand_over(&cluster, &members, member.id).await;
    if let Err(Silence(why)) = moved {
        let message = format!("the leadership of etcd could not be moved: {why}");
        return not_yet(Reason::MemberChanging, message);
    }
    let removed = planes.remove(&cluster, &members, member.id).await;
    planes.look(&cluster).await.ok();
    match removed {
        Ok(true) => {
            tracing::info!(cluster = observed.marker.cluster, machine = observed.marker.machine, member = %member.id, "removed an etcd member");
            Ok(ActionOutcome::Yes)
        }
        Ok(false) => not_yet(Reason::MemberChanging, quorum::refused_for_now(member)),
        Err(Silence(why)) => not_yet(Reason::EtcdUnreachable, why),
    }
}

/// Requires, before the place of a Machine is released, that etcd has no member of it. A finding says what it has.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted.
pub(super) async fn may_release(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    if !leaving::is_asked(observed) {
        return Ok(None);
    }
    let cluster = cluster(controller, observed)?;
    Ok(match controller.control_planes.look(&cluster).await {
        Ok(members) => observed.member(&members).map(|member| {
            let message = format!(
                "etcd lists member {}, which is removed first",
                member.label()
            );
            waits(observed, Reason::MemberChanging, message)
        }),
        Err(why) => Some(waits(observed, Reason::EtcdUnreachable, why)),
    })
}

/// Requires that the components of the control plane on its machine serve now, its etcd member among them.
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
    Ok(match update::unwell(observed, asked.map(AsRef::as_ref)) {
        Some(why) => ActionOutcome::NotYet(Finding::yes(
            ConditionType::Updating,
            Reason::WaitingForControlPlane,
            why,
        )),
        None => ActionOutcome::Yes,
    })
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
        let members = match controller.control_planes.look_once(&cluster).await {
            Ok(members) => members,
            Err(why) => {
                let finding = waits(observed, Reason::EtcdUnreachable, why);
                return Ok(ActionOutcome::NotYet(finding));
            }
        };
        if observed.member_proof(&members).as_ref() != Some(proof) {
            return Err(ReconcileError::Conflict {
                what: "return the control-plane turn".into(),
            });
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

fn waits(observed: &Observed, reason: Reason, message: String) -> Finding {
    let (condition, status) = if observed.is_deleting() {
        (ConditionType::Deleting, Status::True)
    } else {
        (BOOTSTRAP, Status::False)
    };
    Finding {
        condition,
        status,
        reason,
        message,
    }
}
