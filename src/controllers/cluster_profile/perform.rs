//! Does what a plan says, with no choices left.

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::input::Error;
use super::plan::{Action, CONDITION};
use crate::api::conditions::{Finding, Reason};
use crate::api::names::{FIELD_MANAGER, FINALIZER_PROFILE};
use crate::api::{Cluster, ClusterProfile, ClusterProfileStatus};

/// Does what a plan says, in order. What the API server refuses of one profile is a finding, and does
/// not keep the others back.
pub(super) async fn execute(
    client: &Client,
    cluster: &Cluster,
    actions: Vec<Action>,
) -> Result<Option<Finding>, Error> {
    let name = cluster.name_any();
    let mut refused = None;
    for action in actions {
        match action {
            Action::Hold => hold(client, cluster).await?,
            Action::Release => release(client, cluster).await?,
            Action::Withdraw { namespace, uid } => withdraw(client, &namespace, &name, uid).await?,
            Action::Publish {
                namespace,
                uid,
                object,
                status,
            } => {
                let parts = (object.as_deref(), status.as_ref());
                let published = publish(client, &namespace, &name, uid, parts).await;
                refused = refused.or(refusal(&namespace, &name, published)?);
            }
        }
    }
    Ok(refused)
}

/// Answers that the next pass would get again are for people; the others are errors.
fn refusal(
    namespace: &str,
    name: &str,
    result: kube::Result<()>,
) -> Result<Option<Finding>, Error> {
    match result {
        Ok(()) => Ok(None),
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 404 | 422) => {
            let message = format!("ClusterProfile {namespace}/{name}: {}", status.message);
            Ok(Some(Finding::no(CONDITION, Reason::Refused, message)))
        }
        Err(error) => Err(Error::api(
            format!("apply ClusterProfile {namespace}/{name}"),
            error,
        )),
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

async fn withdraw(client: &Client, namespace: &str, name: &str, uid: String) -> Result<(), Error> {
    let profiles: Api<ClusterProfile> = Api::namespaced(client.clone(), namespace);
    let only_this = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid),
        resource_version: None,
    });
    match profiles.delete(name, &only_this).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(Error::api(
            format!("delete ClusterProfile {namespace}/{name}"),
            error,
        )),
    }
}

async fn hold(client: &Client, cluster: &Cluster) -> Result<(), Error> {
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.push(FINALIZER_PROFILE.to_owned());
    write_finalizers(client, cluster, &finalizers).await
}

async fn release(client: &Client, cluster: &Cluster) -> Result<(), Error> {
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.retain(|finalizer| finalizer != FINALIZER_PROFILE);
    write_finalizers(client, cluster, &finalizers).await
}

/// The whole list, under the resourceVersion that it was read with: others have finalizers there too.
async fn write_finalizers(
    client: &Client,
    cluster: &Cluster,
    finalizers: &[String],
) -> Result<(), Error> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(json!({"metadata": {
        "uid": cluster.uid(),
        "resourceVersion": cluster.resource_version(),
        "finalizers": finalizers,
    }}));
    let written = clusters
        .patch_metadata(&name, &PatchParams::default(), &patch)
        .await;
    written.map_err(|error| {
        Error::api(
            format!("write the finalizers of Cluster {namespace}/{name}"),
            error,
        )
    })?;
    Ok(())
}
