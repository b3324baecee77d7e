//! Performs the actions of a plan, without further decisions. Every action is idempotent.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::memory::Memory;
use super::observe::{self, ProfileView};
use super::workload;
use crate::engine::{ActionOutcome, Engine, ReconcileError, patch};
use tatara_core::api::conditions::Finding;
use tatara_core::api::names::{FIELD_MANAGER, FINALIZER_PROFILE};
use tatara_core::api::{Cluster, ClusterProfile, ClusterProfileStatus};
use tatara_core::cluster_profile::plan::Action;
use tatara_core::cluster_profile::{OwnedFields, access, kept, refused};
use tatara_core::finalizers;

/// Performs one action. The next pass observes the result at once.
///
/// # Errors
/// `ReconcileError::Conflict` when an object was modified concurrently; `Api` when the API server
/// fails. Answers 400, 403, 404 and 422 for a profile are returned as [`ActionOutcome::Refused`].
pub async fn perform(
    engine: &Engine,
    memory: &Memory,
    seen: &ProfileView,
    action: &Action,
) -> Result<ActionOutcome, ReconcileError> {
    let (client, cluster) = (&engine.client, seen.input.cluster.as_ref());
    let name = cluster.name_any();
    match action {
        Action::MakeAccount => return Ok(make_account(memory, seen).await),
        Action::WriteSecret { uid, kubeconfig } => {
            let secret = access::secret(&seen.observed.cluster, uid.clone(), kubeconfig);
            let written = write_secret(client, &secret).await?;
            let kept = observe::kept(&written, cluster);
            memory.update(cluster, |remembered| {
                remembered.keep(seen.input.secret.as_ref(), Some(kept));
            });
        }
        Action::Hold => {
            let change = |cluster: &Cluster| json!({ "metadata": { "finalizers": finalizers::with(cluster, FINALIZER_PROFILE) } });
            patch::swap(engine, cluster, finalizers::basis, change).await?;
        }
        Action::Release => {
            patch::remove_finalizer(engine, cluster, FINALIZER_PROFILE).await?;
        }
        Action::Withdraw { namespace, uid } => {
            memory.update(cluster, super::memory::ProfileRecord::withdrew);
            withdraw(client, namespace, &name, uid).await?;
        }
        Action::Publish {
            namespace,
            uid,
            object,
            status,
        } => {
            let parts = (object.as_deref(), status.as_ref());
            let published = publish(client, namespace, &name, uid.clone(), parts).await;
            if published.is_err() {
                // the profile may have been replaced since it was read: the next pass lists again
                memory.update(cluster, super::memory::ProfileRecord::withdrew);
            }
            let written = match refusal(namespace, &name, published)? {
                Ok(written) => written,
                Err(refused) => return Ok(ActionOutcome::Refused(refused)),
            };
            let Some(written) = written else {
                return Ok(ActionOutcome::Yes);
            };
            // the watch event of this write must not trigger another pass
            memory.update(cluster, |remembered| remembered.wrote(cluster, &written));
            let lost = OwnedFields::of(&written).lost(parts.0, parts.1);
            if let Err(finding) = kept(namespace, &name, &lost) {
                return Ok(ActionOutcome::Refused(finding));
            }
        }
    }
    Ok(ActionOutcome::LookAgain(Duration::ZERO))
}

/// Creates the `ServiceAccount` for consumers. A refusal by the workload cluster is no error of the
/// pass: the profile stays and reports it, and the next query of the workload cluster retries it.
async fn make_account(memory: &Memory, seen: &ProfileView) -> ActionOutcome {
    let Some(workload) = &seen.workload else {
        return ActionOutcome::Yes;
    };
    let problem = workload::make_account(workload).await.unwrap_or_else(Some);
    let mut is_news = false;
    memory.update(&seen.input.cluster, |remembered| {
        is_news = remembered.take_account(problem);
    });
    if is_news {
        ActionOutcome::LookAgain(Duration::ZERO)
    } else {
        ActionOutcome::Yes
    }
}

/// Applies over the Secret that was read, or creates it if there was none.
async fn write_secret(client: &Client, secret: &Secret) -> Result<Secret, ReconcileError> {
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let written = if secret.uid().is_some() {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        secrets.patch(&name, &params, &Patch::Apply(secret)).await
    } else {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.into()),
            ..PostParams::default()
        };
        secrets.create(&params, secret).await
    };
    let what = format!("write Secret {namespace}/{name}");
    written.map_err(ReconcileError::api(what))
}

/// Returns answers that a retry would repeat as findings for users; all others are errors.
fn refusal(
    namespace: &str,
    name: &str,
    result: kube::Result<Option<ClusterProfile>>,
) -> Result<Result<Option<ClusterProfile>, Finding>, ReconcileError> {
    let error = match result {
        Ok(written) => return Ok(Ok(written)),
        Err(error) => error,
    };
    let told = match &error {
        kube::Error::Api(status) => {
            refused(namespace, name, (status.code, status.message.as_str()))
        }
        _ => None,
    };
    told.map(Err).ok_or_else(|| {
        let what = format!("apply ClusterProfile {namespace}/{name}");
        ReconcileError::api(what)(error)
    })
}

/// Applies the object, then its status, which without an object is answered with 404. Returns the
/// written object.
async fn publish(
    client: &Client,
    namespace: &str,
    name: &str,
    mut uid: Option<String>,
    (object, status): (Option<&ClusterProfile>, Option<&ClusterProfileStatus>),
) -> kube::Result<Option<ClusterProfile>> {
    let profiles: Api<ClusterProfile> = Api::namespaced(client.clone(), namespace);
    // the patch contains only fields that we own, so force takes over no others
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let mut written = None;
    if let Some(object) = object {
        let applied = profiles.patch(name, &params, &Patch::Apply(object)).await?;
        uid.clone_from(&applied.metadata.uid);
        written = Some(applied);
    }
    if let Some(status) = status {
        let body = status_body(name, namespace, uid.as_deref(), status);
        let body = Patch::Apply(body);
        written = Some(profiles.patch_status(name, &params, &body).await?);
    }
    Ok(written)
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
