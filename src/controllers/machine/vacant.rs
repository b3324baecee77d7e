//! Turns of Machines that do not exist, and that of a Cluster itself.

use kube::{Api, ResourceExt};
use serde_json::json;

use super::turn::{self, Turns, go, read};
use crate::api::cluster::{Turn, TurnAction};
use crate::api::names::ANNOTATION_HOST_IS_GONE;
use crate::api::{Cluster, Machine};
use crate::core::control_plane::turn::{self as marks, Holder, Step};
use crate::core::node::Marker;
use crate::core::proof::{Ended, HostIsGone, Proof, TurnIsOver};
use crate::engine::{ReconcileError, patch};
use crate::store::Key;

/// Takes the turn for the Cluster itself, to remove an etcd member that belongs to no Machine; returns who has it instead.
/// [`give_back`] returns it, also after a manager that was stopped: no Machine has the UID of a Cluster.
///
/// # Errors
/// `ReconcileError::Conflict` when Cluster or CA Secret was modified concurrently or they contradict each other, `Api` when one
/// cannot be read or written, `NotLeading` without leadership.
pub async fn hold(turns: &Turns, cluster: &Cluster) -> Result<Option<Turn>, ReconcileError> {
    let wanted = Turn {
        machine: cluster.uid().unwrap_or_default(),
        name: cluster.name_any(),
        action: TurnAction::Remove,
    };
    match go(turns, cluster, |both| marks::take(both, &wanted)).await? {
        Step::Done => Ok(None),
        Step::Blocked(by) => Ok(Some(by)),
        _ => Err(ReconcileError::Conflict {
            what: "take the control-plane turn".into(),
        }),
    }
}

/// Returns a later turn than that of `kubeadm init`, if its Machine does not exist, read live.
///
/// # Errors
/// `ReconcileError::Api` when the Machine cannot be read; otherwise those of [`turn::give_back`].
pub async fn give_back(turns: &Turns, cluster: &Cluster) -> Result<(), ReconcileError> {
    let live = read(turns, cluster).await?;
    let Some(turn) = live
        .both
        .holder()
        .filter(|turn| turn.action != TurnAction::Init)
    else {
        return Ok(());
    };
    let owner = owner(turns, cluster, turn);
    if exists(turns, &owner).await? {
        return Ok(());
    }
    turns.base.engine.must_lead()?;
    turn::give_back(turns, &owner, &TurnIsOver::Vacant(owner.uid.clone())).await
}

/// Returns the turn of a deleted Machine if the user asserts on the Cluster, with [`ANNOTATION_HOST_IS_GONE`], that its
/// host no longer exists. Removes the annotation afterwards.
///
/// # Errors
/// `ReconcileError::Api` when the Machine cannot be read; otherwise those of [`turn::give_back`] and [`patch::swap`].
pub async fn give_back_by_act(turns: &Turns, cluster: &Cluster) -> Result<(), ReconcileError> {
    let live = read(turns, cluster).await?;
    let says = live.cluster.annotations().get(ANNOTATION_HOST_IS_GONE);
    let holders = [&live.both.secret.turn, &live.both.cluster.turn];
    let turn = holders.into_iter().find_map(|holder| match holder {
        Holder::Of(turn) if Some(&turn.machine) == says => Some(turn),
        _ => None,
    });
    let Some(turn) = turn else {
        return Ok(());
    };
    let owner = owner(turns, cluster, turn);
    let says = HostIsGone {
        value: &owner.uid,
        counts: !exists(turns, &owner).await?,
    };
    let proof = Proof::of_user(&owner.uid, says);
    let Some(ended) = proof.and_then(|proof| Ended::from(&proof)) else {
        return Ok(());
    };
    turns.base.engine.must_lead()?;
    turn::give_back(turns, &owner, &TurnIsOver::Proven(ended)).await?;
    // the user may be wrong: a host with its claim is contacted again before the next kubeadm init
    for host in turns.base.stores().hosts.by(&Key::Claim(owner.uid.clone())) {
        let namespace = host.namespace().unwrap_or_default();
        turns.hosts.sightings.forget(&namespace, &host.name_any());
    }
    let part = |cluster: &Cluster| cluster.annotations().get(ANNOTATION_HOST_IS_GONE).cloned();
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): null } } });
    patch::swap(&turns.base.engine, &live.cluster, part, |_| change.clone())
        .await
        .map(drop)
}

/// The Machine that has a turn.
fn owner(turns: &Turns, cluster: &Cluster, turn: &Turn) -> Marker {
    Marker {
        management: turns.base.management.clone(),
        namespace: cluster.namespace().unwrap_or_default(),
        cluster: cluster.name_any(),
        machine: turn.name.clone(),
        uid: turn.machine.clone(),
    }
}

/// Whether a Machine of this name has this UID, read live.
async fn exists(turns: &Turns, owner: &Marker) -> Result<bool, ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(turns.base.client(), &owner.namespace);
    let machine = machines.get_opt(&owner.machine).await;
    let what = format!("read Machine {}", owner.machine);
    let machine = machine.map_err(ReconcileError::api(what))?;
    Ok(machine.is_some_and(|machine| machine.uid().as_ref() == Some(&owner.uid)))
}
