//! The control-plane turn, and the record that a control plane exists: read live, and changed one
//! write at a time as [`tatara_core::control_plane::turn`] decides. With compare-and-swap one of
//! two concurrent Machines or managers wins.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::init_evidence;
use crate::controllers::base::Base;
use crate::controllers::cluster_cache::ClusterMemories;
use crate::controllers::workloads::Workloads;
use crate::engine::{ReconcileError, patch};
use crate::pki::AuthoritySecret;
use crate::providers::Hosts;
use crate::store::{Key, Stores, Wakers};
use tatara_core::api::Cluster;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::conditions::Finding;
use tatara_core::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN};
use tatara_core::control_plane::turn::{self, Both, Holder, Marks, Side, Step};
use tatara_core::machine::Observed;
use tatara_core::machine::live::{self, turn::Outcome};
use tatara_core::node::Marker;
use tatara_core::proof::{InitProof, TurnIsOver};

/// Exceeds the number of writes of every sequence in [`tatara_core::control_plane::turn`].
const STEPS: usize = 8;

/// Dependencies for changing the turn.
pub struct Turns {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// Cached facts about Clusters and their Secrets.
    pub workloads: Arc<Workloads>,
    /// Hosts over SSH, with their last observations.
    pub hosts: Arc<Hosts>,
}

/// Both objects read live, and their marks.
pub(super) struct Live {
    pub(super) cluster: Cluster,
    secret: Option<Secret>,
    pub(super) both: Both,
}

/// Takes the turn of `kubeadm init`, or verifies that this Machine still has it. A finding says why
/// the Machine may not proceed.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted, `Conflict` when the turn was changed
/// concurrently, `Api` when Cluster or CA Secret cannot be read or written, `NotLeading` without
/// leadership.
pub async fn take(turns: &Turns, observed: &Observed) -> Result<Option<Finding>, ReconcileError> {
    let cluster = its_cluster(turns, observed)?;
    if let Some(doubt) = init_evidence::ask(turns, observed).await {
        return Ok(Some(doubt));
    }
    turns.hosts.sightings.forget_ended(observed.uid());
    move_turn(turns, observed, &cluster, TurnAction::Init, turn::take).await
}

/// Gives the turn to a Machine that asks for it, if nobody has it by now.
///
/// # Errors
/// Those of [`settle`].
pub async fn grant(turns: &Turns, cluster: &Cluster, to: &Turn) -> Result<(), ReconcileError> {
    let step = go(turns, cluster, |both| turn::take(both, to)).await?;
    if step == Step::Done {
        let Turn { machine, name, .. } = to;
        let action = to.action.as_str();
        tracing::info!(machine = %name, uid = %machine, action, "granted the control-plane turn");
    }
    // of any other step the marks are remembered, by which it is planned again
    Ok(())
}

/// Verifies that this Machine has the turn that the planner gave it. A finding says who has it
/// instead.
///
/// # Errors
/// `Conflict` when it has it no more, or the turn was changed concurrently; otherwise those of
/// [`settle`].
pub async fn hold(
    turns: &Turns,
    observed: &Observed,
    action: TurnAction,
) -> Result<Option<Finding>, ReconcileError> {
    let cluster = its_cluster(turns, observed)?;
    move_turn(turns, observed, &cluster, action, turn::hold).await
}

/// What came of taking, or holding, the turn for this.
async fn move_turn(
    turns: &Turns,
    observed: &Observed,
    cluster: &Cluster,
    action: TurnAction,
    decide: fn(&Both, &Turn) -> Step,
) -> Result<Option<Finding>, ReconcileError> {
    let wanted = live::turn::wanted(observed, action);
    let step = go(turns, cluster, |both| decide(both, &wanted)).await?;
    let uid = cluster.uid().unwrap_or_default();
    let outcome = live::turn::taken(&observed.marker, &uid, action, step);
    finding(outcome, "take the control-plane turn")
}

fn its_cluster(turns: &Turns, observed: &Observed) -> Result<Arc<Cluster>, ReconcileError> {
    let cluster = stored(turns, &observed.marker);
    cluster.ok_or_else(|| ReconcileError::other("take the turn", "the Cluster was deleted"))
}

/// Returns the turn that this Machine has on the Cluster, the CA Secret, or both.
///
/// # Errors
/// `ReconcileError::Other` when `over` is about another Machine; otherwise those of [`settle`].
pub async fn give_back(
    turns: &Turns,
    owner: &Marker,
    over: &TurnIsOver,
) -> Result<(), ReconcileError> {
    if !over.is_about(&owner.uid) {
        return Err(ReconcileError::other(
            "return the control-plane turn",
            "the proof is about another Machine",
        ));
    }
    if matches!(over, TurnIsOver::Proven(_)) {
        let exists = turns.base.stores().machines.by_uid(&owner.uid).is_some();
        turns.hosts.sightings.ended(&owner.uid, exists);
    }
    let Some(cluster) = stored(turns, owner) else {
        return Ok(());
    };
    let known = known(&turns.workloads, &cluster);
    if turn::is_returned(known.as_ref(), &owner.uid) {
        return Ok(());
    }
    match go(turns, &cluster, |both| turn::give_back(both, &owner.uid)).await {
        // a Cluster that was deleted meanwhile needs no turn
        Err(error) if error.is_conflict() && stored(turns, owner).is_none() => Ok(()),
        result => result.map(drop),
    }
}

/// Records that this Machine created the control plane, which ends its turn.
///
/// # Errors
/// Those of [`settle`].
pub async fn record_initialized(
    turns: &Turns,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    let Some(cluster) = stored(turns, &observed.marker) else {
        return Ok(None);
    };
    let known = turns
        .workloads
        .known
        .get(&cluster.uid().unwrap_or_default());
    let authority = known.authorities.map(|all| all.cluster.fingerprint());
    if let Some(doubt) = live::turn::other_authority(observed, authority.as_deref()) {
        return Ok(Some(doubt));
    }
    let step = go(turns, &cluster, |both| turn::record(both, observed.uid())).await?;
    finding(
        live::turn::recorded(observed, step),
        "record the control plane",
    )
}

/// Records the control plane of a deleted Machine whose presence a host proves. Contradictions are
/// reported by the Cluster, and by the Machines that wait for it.
///
/// # Errors
/// Those of [`settle`].
pub async fn record_found(turns: &Turns, made: &InitProof) -> Result<(), ReconcileError> {
    let by = made.by();
    let Some(cluster) = stored(turns, by) else {
        return Ok(());
    };
    let step = go(turns, &cluster, |both| turn::record_found(both, &by.uid)).await?;
    if step == Step::Done {
        tracing::info!(cluster = %by.cluster, machine = %by.machine, uid = %by.uid, "recorded the control plane that a host has");
    }
    Ok(())
}

/// Completes changes that do not depend on a Machine: see [`turn::settle`].
///
/// # Errors
/// `ReconcileError::Conflict` when Cluster or CA Secret was modified concurrently, `Api` when one
/// cannot be read or written, `NotLeading` without leadership.
pub async fn settle(turns: &Turns, cluster: &Cluster) -> Result<(), ReconcileError> {
    go(turns, cluster, turn::settle).await.map(drop)
}

/// The marks on both, as cached: the Cluster from its watch, the Secret as it was last read.
pub fn known(workloads: &Workloads, cluster: &Cluster) -> Option<Both> {
    let known = workloads.known.get(&cluster.uid().unwrap_or_default());
    let secret = known.turn?;
    Some(Both::of(secret, cluster))
}

/// The marks on both, read live.
///
/// # Errors
/// `ReconcileError::Api` when Cluster or CA Secret cannot be read; `Conflict` when the Cluster was
/// deleted.
pub async fn now(turns: &Turns, cluster: &Cluster) -> Result<Both, ReconcileError> {
    read(turns, cluster).await.map(|live| live.both)
}

/// Performs the writes of `decide` until none is left. Each round reads both objects again.
pub(super) async fn go(
    turns: &Turns,
    cluster: &Cluster,
    decide: impl Fn(&Both) -> Step,
) -> Result<Step, ReconcileError> {
    for _ in 0..STEPS {
        let live = read(turns, cluster).await?;
        let step = decide(&live.both);
        let Step::Write(side, marks) = step else {
            if step == Step::Done && !is_current(turns, &live).await? {
                continue;
            }
            return Ok(step);
        };
        turns.base.engine.must_lead()?;
        match (side, &live.secret) {
            (Side::Secret, Some(secret)) => {
                // compares the resourceVersion: after any change the decision is repeated
                let part = |secret: &Secret| secret.resource_version();
                let change = change(&live.both.secret, &marks)?;
                patch::swap(&turns.base.engine, secret, part, |_| change.clone()).await?;
                remember(turns, &live.cluster, Some(marks));
            }
            (Side::Secret, None) => break,
            (Side::Cluster, _) => {
                let part = |cluster: &Cluster| Marks::of(cluster.annotations());
                let change = change(&live.both.cluster, &marks)?;
                patch::swap(&turns.base.engine, &live.cluster, part, |_| change.clone()).await?;
            }
        }
    }
    Err(ReconcileError::Conflict {
        what: "move the control-plane turn".into(),
    })
}

/// Whether the Secret is as it was before the Cluster was read. Else the two may never have been so
/// at the same moment.
async fn is_current(turns: &Turns, live: &Live) -> Result<bool, ReconcileError> {
    let Some(secret) = &live.secret else {
        return Ok(true);
    };
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    let secrets: Api<Secret> = Api::namespaced(turns.base.client(), &namespace);
    let now = secrets.get_metadata_opt(&name).await;
    let now = now.map_err(ReconcileError::api(format!("read Secret {name}")))?;
    Ok(now.is_some_and(|now| now.resource_version() == secret.resource_version()))
}

/// Reads the Secret first: see [`tatara_core::control_plane::turn`].
pub(super) async fn read(turns: &Turns, cluster: &Cluster) -> Result<Live, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(turns.base.client(), &namespace);
    let name = AuthoritySecret::Cluster.name(&cluster.name_any());
    let secret = secrets
        .get_opt(&name)
        .await
        .map_err(ReconcileError::api(format!("read Secret {name}")))?;
    let cluster = patch::live(&turns.base.engine, cluster).await?;
    let marks = secret
        .as_ref()
        .map(|secret| Marks::of(secret.annotations()));
    remember(turns, &cluster, marks.clone());
    let both = Both::of(marks, &cluster);
    Ok(Live {
        cluster,
        secret,
        both,
    })
}

/// Caches the marks of the CA Secret. A change wakes control-plane Machines that wait for the turn
/// or for the certificates. The event of the Cluster does not suffice: when a turn is returned, the
/// Secret is written last.
pub fn remember(turns: &Turns, cluster: &Cluster, secret: Option<Marks>) {
    let (stores, wakers) = (turns.base.stores(), &turns.base.wakers);
    take_down(&turns.workloads.known, stores, wakers, cluster, secret);
}

/// Like [`remember`], with only the required dependencies.
pub fn take_down(
    known: &ClusterMemories,
    stores: &Stores,
    wakers: &Wakers,
    cluster: &Cluster,
    secret: Option<Marks>,
) {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let mut is_news = false;
    let uid = cluster.uid().unwrap_or_default();
    known.update(&uid, |known| {
        is_news = known.turn.as_ref() != Some(&secret);
        known.turn = Some(secret);
    });
    if !is_news {
        return;
    }
    wakers.planners.wake(&namespace, &name);
    for machine in stores.machines.by(&Key::ControlPlane(namespace, name)) {
        wakers.machines.wake_object(&machine);
    }
}

fn stored(turns: &Turns, owner: &Marker) -> Option<Arc<Cluster>> {
    let clusters = &turns.base.stores().clusters;
    clusters.get(&owner.namespace, &owner.cluster)
}

/// Why the Machine waits, if it does.
pub(super) fn finding(outcome: Outcome, what: &str) -> Result<Option<Finding>, ReconcileError> {
    match outcome {
        Outcome::Yes => Ok(None),
        Outcome::NotYet(finding) => Ok(Some(finding)),
        Outcome::Changed => Err(ReconcileError::Conflict { what: what.into() }),
    }
}

/// The difference between two marks, as a merge patch.
fn change(from: &Marks, to: &Marks) -> Result<Value, ReconcileError> {
    let mut annotations = serde_json::Map::new();
    if from.turn != to.turn {
        let turn = match &to.turn {
            Holder::Of(turn) => serde_json::to_string(turn)
                .map(Value::String)
                .map_err(|error| ReconcileError::other("write the turn", error))?,
            Holder::Nobody | Holder::Unreadable(_) => Value::Null,
        };
        annotations.insert(ANNOTATION_TURN.into(), turn);
    }
    if from.initialized != to.initialized {
        annotations.insert(ANNOTATION_INITIALIZED.into(), json!(to.initialized));
    }
    Ok(json!({ "metadata": { "annotations": annotations } }))
}
