//! Does what a plan says, with no choices left. Every action may be done again.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::member;
use super::memory::{ASK_AGAIN, Memory};
use super::observe::Seen;
use crate::api::conditions::{Finding, Reason};
use crate::api::names::{FIELD_MANAGER, FINALIZER_PROFILE};
use crate::api::{Cluster, ClusterProfile, ClusterProfileStatus};
use crate::core::cluster_profile::access;
use crate::core::cluster_profile::plan::{Action, CONDITION};
use crate::core::finalizers;
use crate::engine::{Done, Engine, ReconcileError, patch};

/// How soon a profile is tried again that was refused: a namespace may be made meanwhile.
const REFUSED_AGAIN: Duration = Duration::from_secs(30);

/// Does one action. What was done is looked at again at once.
pub async fn perform(
    engine: &Engine,
    memory: &Memory,
    seen: &Seen,
    action: &Action,
) -> Result<Done, ReconcileError> {
    let (client, cluster) = (&engine.client, seen.input.cluster.as_ref());
    let name = cluster.name_any();
    match action {
        Action::MakeAccount => return Ok(make_account(memory, seen).await),
        Action::WriteSecret { uid, kubeconfig } => {
            let secret = access::secret(&seen.observed.cluster, uid.clone(), kubeconfig);
            write_secret(client, &secret).await?;
        }
        Action::Hold => {
            let change = |cluster: &Cluster| json!({ "metadata": { "finalizers": finalizers::with(cluster, FINALIZER_PROFILE) } });
            let deleted = |cluster: &Cluster| cluster.metadata.deletion_timestamp.clone();
            patch::swap(engine, cluster, deleted, change).await?;
        }
        Action::Release => {
            patch::remove_finalizer(engine, cluster, FINALIZER_PROFILE).await?;
        }
        Action::Withdraw { namespace, uid } => withdraw(client, namespace, &name, uid).await?,
        Action::Publish {
            namespace,
            uid,
            object,
            status,
        } => {
            let parts = (object.as_deref(), status.as_ref());
            let published = publish(client, namespace, &name, uid.clone(), parts).await;
            if let Some(refused) = refusal(namespace, &name, published)? {
                return Ok(Done::Refused(refused, REFUSED_AGAIN));
            }
        }
    }
    Ok(Done::LookAgain(Duration::ZERO))
}

/// What a member does not take is no failure of the pass: its profile goes on.
async fn make_account(memory: &Memory, seen: &Seen) -> Done {
    let Some(member) = &seen.member else {
        return Done::Yes;
    };
    let made = member::make_account(member).await;
    let is_answered = made.is_ok();
    memory.update(&seen.input.cluster, |remembered| {
        remembered.account = made.unwrap_or_else(Some);
        if !is_answered {
            remembered.ask_anew();
        }
    });
    if is_answered {
        Done::Yes
    } else {
        Done::LookAgain(ASK_AGAIN)
    }
}

async fn write_secret(client: &Client, secret: &Secret) -> Result<(), ReconcileError> {
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = secrets.patch(&name, &params, &Patch::Apply(secret)).await;
    let what = format!("apply Secret {namespace}/{name}");
    applied.map(drop).map_err(ReconcileError::api(what))
}

/// Answers that the next pass would get again are for people; the others are errors.
fn refusal(
    namespace: &str,
    name: &str,
    result: kube::Result<()>,
) -> Result<Option<Finding>, ReconcileError> {
    match result {
        Ok(()) => Ok(None),
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 404 | 422) => {
            let message = format!("ClusterProfile {namespace}/{name}: {}", status.message);
            Ok(Some(Finding::no(CONDITION, Reason::Refused, message)))
        }
        Err(error) => {
            let what = format!("apply ClusterProfile {namespace}/{name}");
            Err(ReconcileError::api(what)(error))
        }
    }
}

/// The object, then its status: a status without an object is 404.
async fn publish(
    client: &Client,
    namespace: &str,
    name: &str,
    mut uid: Option<String>,
    (object, status): (Option<&ClusterProfile>, Option<&ClusterProfileStatus>),
) -> kube::Result<()> {
    let profiles: Api<ClusterProfile> = Api::namespaced(client.clone(), namespace);
    // ours alone are in what we send, so force takes nothing else over
    let params = PatchParams::apply(FIELD_MANAGER).force();
    if let Some(object) = object {
        let applied = profiles.patch(name, &params, &Patch::Apply(object)).await?;
        uid = applied.metadata.uid;
    }
    if let Some(status) = status {
        let body = status_body(name, namespace, uid.as_deref(), status);
        profiles
            .patch_status(name, &params, &Patch::Apply(body))
            .await?;
    }
    Ok(())
}

fn status_body(
    name: &str,
    namespace: &str,
    uid: Option<&str>,
    status: &ClusterProfileStatus,
) -> Value {
    json!({
        "apiVersion": ClusterProfile::api_version(&()),
        "kind": ClusterProfile::kind(&()),
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "status": status,
    })
}

async fn withdraw(
    client: &Client,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<(), ReconcileError> {
    let profiles: Api<ClusterProfile> = Api::namespaced(client.clone(), namespace);
    let only_this = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    });
    match profiles.delete(name, &only_this).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => {
            let what = format!("delete ClusterProfile {namespace}/{name}");
            Err(ReconcileError::api(what)(error))
        }
    }
}
