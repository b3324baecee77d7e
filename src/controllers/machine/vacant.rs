//! Turns of Machines that do not exist, and that of a Cluster itself, as
//! [`tatara_core::machine::live::vacant`] decides.

use kube::{Api, ResourceExt};
use serde_json::json;

use super::turn::{self, Live, Turns, go, read};
use crate::engine::{ReconcileError, patch};
use crate::store::Key;
use tatara_core::api::cluster::Turn;
use tatara_core::api::names::ANNOTATION_HOST_IS_GONE;
use tatara_core::api::{Cluster, Machine};
use tatara_core::control_plane::turn as marks;
use tatara_core::machine::live::vacant::{self as live, Held};
use tatara_core::node::Marker;

/// Verifies that the Cluster itself has the turn, to remove an etcd member that belongs to no
/// Machine; returns who has it instead. [`give_back`] returns it, also after a manager that was
/// stopped: no Machine has the UID of a Cluster.
///
/// # Errors
/// `ReconcileError::Conflict` when Cluster or CA Secret was modified concurrently or they
/// contradict each other, `Api` when one cannot be read or written, `NotLeading` without
/// leadership.
pub async fn hold(turns: &Turns, cluster: &Cluster) -> Result<Option<Turn>, ReconcileError> {
    let wanted = live::of_cluster(cluster);
    let step = go(turns, cluster, |both| marks::hold(both, &wanted)).await?;
    match live::held(step) {
        Held::Own => Ok(None),
        Held::By(other) => Ok(Some(other)),
        Held::Changed => Err(ReconcileError::Conflict {
            what: "use the control-plane turn of the Cluster".into(),
        }),
    }
}

/// Returns a later turn than that of `kubeadm init`, if its Machine does not exist, read live.
///
/// # Errors
/// `ReconcileError::Api` when the Machine cannot be read; otherwise those of [`turn::give_back`].
pub async fn give_back(turns: &Turns, cluster: &Cluster) -> Result<(), ReconcileError> {
    let both = read(turns, cluster).await?.both;
    let Some(turn) = live::later(&both) else {
        return Ok(());
    };
    let owner = owner(turns, cluster, turn);
    let Some(over) = live::without_machine(turn, machine(turns, &owner).await?.as_ref()) else {
        return Ok(());
    };
    turns.base.engine.must_lead()?;
    turn::give_back(turns, &owner, &over).await
}

/// Returns the turn of a deleted Machine if the user asserts on the Cluster, with
/// [`ANNOTATION_HOST_IS_GONE`], that its host no longer exists. Removes the annotation afterwards.
///
/// # Errors
/// `ReconcileError::Api` when the Machine cannot be read; otherwise those of [`turn::give_back`]
/// and [`patch::swap`].
pub async fn give_back_by_act(turns: &Turns, cluster: &Cluster) -> Result<(), ReconcileError> {
    let Live { cluster, both, .. } = read(turns, cluster).await?;
    let says = cluster.annotations().get(ANNOTATION_HOST_IS_GONE);
    let Some(turn) = live::named(&both, says) else {
        return Ok(());
    };
    let owner = owner(turns, &cluster, turn);
    let Some(over) = live::by_act(turn, machine(turns, &owner).await?.as_ref()) else {
        return Ok(());
    };
    turns.base.engine.must_lead()?;
    turn::give_back(turns, &owner, &over).await?;
    // the user may be wrong: a host with its claim is contacted again before the next kubeadm init
    for host in turns.base.stores().hosts.by(&Key::Claim(owner.uid.clone())) {
        let namespace = host.namespace().unwrap_or_default();
        turns.hosts.sightings.forget(&namespace, &host.name_any());
    }
    let part = |cluster: &Cluster| cluster.annotations().get(ANNOTATION_HOST_IS_GONE).cloned();
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HOST_IS_GONE): null } } });
    patch::swap(&turns.base.engine, &cluster, part, |_| change.clone())
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

/// The Machine of this name, read live.
async fn machine(turns: &Turns, owner: &Marker) -> Result<Option<Machine>, ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(turns.base.client(), &owner.namespace);
    let machine = machines.get_opt(&owner.machine).await;
    machine.map_err(ReconcileError::api(format!(
        "read Machine {}",
        owner.machine
    )))
}
