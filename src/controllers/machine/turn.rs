//! The control-plane turn, and the record that a control plane exists. Both are judged on a live read
//! and moved by compare-and-swap: of two Machines, or two managers, one wins.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::observed::Observed;
use crate::api::Cluster;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Finding;
use crate::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;
use crate::node::Marker;

/// Takes the turn, if nobody has it. For `init`: only if no control plane was ever recorded; a record
/// that the Cluster does not have is a finding, for a person has to look at it.
pub async fn take(
    context: &Context,
    observed: &Observed,
    action: TurnAction,
) -> Result<Option<Finding>, ReconcileError> {
    context.must_lead()?;
    let cluster = live(context, observed).await?;
    let taken = cluster.annotations().contains_key(ANNOTATION_TURN);
    let initialized = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    if taken || (action == TurnAction::Init && initialized) {
        return Err(ReconcileError::Conflict {
            what: "take the control-plane turn".into(),
        });
    }
    if action == TurnAction::Init
        && let Some(by) = ca_says_initialized(context, observed).await?
    {
        return Ok(Some(in_doubt(observed, &by)));
    }
    let turn = Turn {
        machine: observed.uid().into(),
        name: observed.marker.machine.clone(),
        action,
    };
    let text = serde_json::to_string(&turn)
        .map_err(|error| ReconcileError::other("write the turn", error))?;
    patch::swap(&context.client, &cluster, marks, |_| {
        annotate(ANNOTATION_TURN, &json!(text))
    })
    .await?;
    Ok(None)
}

fn in_doubt(observed: &Observed, by: &str) -> Finding {
    let cluster = &observed.marker.cluster;
    Finding::no(
        "BootstrapReady",
        "ControlPlaneInDoubt",
        format!(
            "Secret {cluster}-ca says that Machine {by} made a control plane, and Cluster {cluster} does not know of it, as after a restore of one without the other; nothing is initialised. \
             If that control plane runs: kubectl -n {} annotate cluster {cluster} {ANNOTATION_INITIALIZED}={by}. If it does not: kubectl -n {} annotate secret {cluster}-ca {ANNOTATION_INITIALIZED}-",
            observed.marker.namespace, observed.marker.namespace
        ),
    )
}

/// Whether this Machine may initialise the control plane, as the API server has it now.
pub async fn must_have_init(context: &Context, observed: &Observed) -> Result<(), ReconcileError> {
    let cluster = live(context, observed).await?;
    let mine = holder(&cluster)
        .is_some_and(|turn| turn.machine == observed.uid() && turn.action == TurnAction::Init);
    if mine && !cluster.annotations().contains_key(ANNOTATION_INITIALIZED) {
        return Ok(());
    }
    Err(ReconcileError::Conflict {
        what: "run kubeadm init without the turn".into(),
    })
}

/// Gives the turn back, if it is this Machine's and the Cluster is still there.
pub async fn give_back(context: &Context, owner: &Marker) -> Result<(), ReconcileError> {
    let known = context
        .stores
        .clusters
        .get(&owner.namespace, &owner.cluster);
    let Some(known) = known.filter(|known| holder(known).is_some()) else {
        return Ok(());
    };
    let cluster = patch::live(&context.client, known.as_ref()).await?;
    if holder(&cluster).is_some_and(|turn| turn.machine == owner.uid) {
        patch::swap(&context.client, &cluster, marks, |_| {
            annotate(ANNOTATION_TURN, &Value::Null)
        })
        .await?;
    }
    Ok(())
}

/// Records that this Machine made the control plane, on the CA Secret and on the Cluster, in this
/// order: what is on the Cluster is then never missing on the Secret.
pub async fn record_initialized(
    context: &Context,
    observed: &Observed,
) -> Result<(), ReconcileError> {
    context.must_lead()?;
    let cluster = live(context, observed).await?;
    if let Some(other) = cluster.annotations().get(ANNOTATION_INITIALIZED) {
        if other == observed.uid() {
            return Ok(());
        }
        return Err(ReconcileError::other(
            "record the control plane",
            format!(
                "the Cluster says that Machine {other} made it, and the host of this one says it did; look at both hosts"
            ),
        ));
    }
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &observed.marker.namespace);
    let name = format!("{}-ca", observed.marker.cluster);
    let secret = secrets
        .get(&name)
        .await
        .map_err(ReconcileError::api(format!("read Secret {name}")))?;
    let record = annotate(ANNOTATION_INITIALIZED, &json!(observed.uid()));
    patch::write(&context.client, &secret, record.clone()).await?;
    let mut change = record;
    if holder(&cluster).is_some_and(|turn| turn.machine == observed.uid()) {
        change["metadata"]["annotations"][ANNOTATION_TURN] = Value::Null;
    }
    patch::swap(&context.client, &cluster, marks, |_| change.clone()).await?;
    Ok(())
}

/// The Machine that made a control plane which the CA Secret remembers and the Cluster does not, as
/// after a restore of one without the other.
async fn ca_says_initialized(
    context: &Context,
    observed: &Observed,
) -> Result<Option<String>, ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &observed.marker.namespace);
    let name = format!("{}-ca", observed.marker.cluster);
    let secret = secrets
        .get_opt(&name)
        .await
        .map_err(ReconcileError::api(format!("read Secret {name}")))?;
    Ok(secret.and_then(|secret| secret.annotations().get(ANNOTATION_INITIALIZED).cloned()))
}

async fn live(context: &Context, observed: &Observed) -> Result<Cluster, ReconcileError> {
    let known: Option<Arc<Cluster>> = context
        .stores
        .clusters
        .get(&observed.marker.namespace, &observed.marker.cluster);
    match known {
        Some(known) => patch::live(&context.client, known.as_ref()).await,
        None => Err(ReconcileError::other(
            "read the Cluster of a Machine",
            "it is gone",
        )),
    }
}

fn holder(cluster: &Cluster) -> Option<Turn> {
    cluster
        .annotations()
        .get(ANNOTATION_TURN)
        .and_then(|text| serde_json::from_str(text).ok())
}

/// What turns and the record are decided upon.
fn marks(cluster: &Cluster) -> [Option<String>; 2] {
    [ANNOTATION_TURN, ANNOTATION_INITIALIZED].map(|key| cluster.annotations().get(key).cloned())
}

fn annotate(key: &str, value: &Value) -> Value {
    json!({ "metadata": { "annotations": { (key): value } } })
}
