//! Does what a plan says. Every action may be done again.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::ObjectMeta;
use kube::{Api, Resource, ResourceExt};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::known::Kubeconfig;
use super::{addons, secrets};
use crate::api::Cluster;
use crate::api::names::{
    FIELD_MANAGER, FINALIZER_CLUSTER, FINALIZER_IN_USE, LABEL_CLUSTER, LABEL_MANAGED_BY,
    MANAGED_BY, kubeconfig_secret,
};
use crate::api::readable::unreadable;
use crate::controllers::machine::{first_host, turn};
use crate::controllers::whose::Shared;
use crate::core::cluster::Observed;
use crate::core::cluster::plan::Action;
use crate::core::{Key, finalizers};
use crate::engine::{Chain, ReconcileError, patch};
use crate::manager::{Context, member_key};
use crate::pki::{Authorities, kubeconfig};
use crate::remote::{Route, kube_client};
use crate::workload::{self, given};

/// Does one action.
pub async fn perform(
    context: &Context,
    observed: &Observed,
    action: &Action,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let cluster = observed.cluster.as_ref();
    match action {
        Action::Adopt => {
            let change = |cluster: &Cluster| json!({ "metadata": { "finalizers": finalizers::with(cluster, FINALIZER_CLUSTER) } });
            let deleted = |cluster: &Cluster| cluster.metadata.deletion_timestamp.clone();
            patch::swap(&context.engine, cluster, deleted, change).await?;
        }
        Action::ReturnTurn => turn::give_back_by_act(context, cluster).await?,
        Action::SettleTurn => turn::settle(context, cluster).await?,
        Action::MakeCertificates => make_certificates(context, cluster, now).await?,
        Action::WriteKubeconfig => write_kubeconfig(context, observed, now).await?,
        Action::Connect => connect(context, cluster).await?,
        Action::ApplyAddons => {
            if let Ok(spec) = &observed.spec {
                addons::apply(context, cluster, spec, now).await?;
            }
        }
        Action::HoldSecrets => {
            secrets::hold(context, cluster, true).await?;
            let uid = cluster.uid().unwrap_or_default();
            context
                .known
                .update(&uid, |known| known.secrets_held = true);
        }
        Action::DeleteChildren => delete_children(context, cluster).await?,
        Action::Finish => finish(context, cluster).await?,
    }
    Ok(())
}

fn namespace(cluster: &Cluster) -> String {
    cluster.namespace().unwrap_or_default()
}

/// Makes the Secrets that are missing, each by a create: of two managers, one wins, and both read what
/// is there.
async fn make_certificates(
    context: &Context,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let name = cluster.name_any();
    let found = secrets::read_authorities(context, &namespace(cluster), &name).await?;
    let (authorities, missing) =
        Authorities::load_or_generate(&name, &found.data, now).map_err(|error| {
            ReconcileError::other("make the certificate authorities", Chain(&error))
        })?;
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace(cluster));
    for which in missing {
        let secret = secret(cluster, which.name(&name), authorities.secret_data(which));
        let what = ReconcileError::api(format!("create Secret {}", which.name(&name)));
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .map_err(what)?;
    }
    tracing::info!(cluster = name, "certificate authorities made");
    context.wakers.clusters.wake_object(cluster);
    Ok(())
}

/// A Secret of the cluster: held until the cluster is gone, and gone with it.
fn secret(cluster: &Cluster, name: String, data: BTreeMap<String, ByteString>) -> Secret {
    let labels = [
        (LABEL_CLUSTER, cluster.name_any()),
        (LABEL_MANAGED_BY, MANAGED_BY.into()),
    ];
    Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: cluster.namespace(),
            labels: Some(
                labels
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect(),
            ),
            owner_references: Some(vec![OwnerReference {
                api_version: Cluster::api_version(&()).into_owned(),
                kind: Cluster::kind(&()).into_owned(),
                name: cluster.name_any(),
                uid: cluster.uid().unwrap_or_default(),
                ..OwnerReference::default()
            }]),
            finalizers: Some(vec![FINALIZER_IN_USE.into()]),
            ..ObjectMeta::default()
        },
        type_: Some("cluster.x-k8s.io/secret".into()),
        data: Some(data),
        ..Secret::default()
    }
}

async fn write_kubeconfig(
    context: &Context,
    observed: &Observed,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let (cluster, name) = (observed.cluster.as_ref(), observed.cluster.name_any());
    let uid = cluster.uid().unwrap_or_default();
    let (Some(endpoint), Some(authorities)) =
        (&observed.endpoint, context.known.get(&uid).authorities)
    else {
        return Ok(());
    };
    let failed =
        |error: crate::pki::PkiError| ReconcileError::other("make the kubeconfig", Chain(&error));
    let certificate = authorities
        .cluster
        .client_certificate(
            kubeconfig::ADMIN_USER,
            Some(kubeconfig::ADMIN_GROUP),
            kubeconfig::ADMIN_LIFE,
            now,
        )
        .map_err(failed)?;
    let text = kubeconfig::admin(
        &name,
        &format!("https://{endpoint}"),
        authorities.cluster.certificate_pem(),
        &certificate,
    )
    .map_err(failed)?;
    let data = [(
        "value".to_owned(),
        ByteString(text.expose_secret().as_bytes().to_vec()),
    )];
    let secret = secret(cluster, kubeconfig_secret(&name), data.into());
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace(cluster));
    let present = secrets.get_opt(&kubeconfig_secret(&name)).await;
    let present = present.map_err(ReconcileError::api("read the kubeconfig Secret"))?;
    if let Some(other) = present.and_then(|present| secrets::other_cluster(&present, cluster)) {
        return Err(ReconcileError::Conflict {
            what: format!("the kubeconfig Secret is that of Cluster {other}"),
        });
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let what = ReconcileError::api(format!("apply Secret {}", kubeconfig_secret(&name)));
    let apply = serde_json::to_value(&secret)
        .map_err(|error| ReconcileError::other("make the kubeconfig", error))?;
    secrets
        .patch(&kubeconfig_secret(&name), &params, &Patch::Apply(&apply))
        .await
        .map_err(what)?;
    context.known.update(&uid, |known| {
        known.kubeconfig = Kubeconfig {
            renew_at: Some(certificate.renew_at()),
            digest: Some(secrets::digest(text.expose_secret())),
            ..Kubeconfig::default()
        };
    });
    Ok(())
}

/// Makes a client from the kubeconfig Secret, the same that people use, and watches the Nodes.
async fn connect(context: &Context, cluster: &Cluster) -> Result<(), ReconcileError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace(cluster));
    let name = kubeconfig_secret(&cluster.name_any());
    let secret = secrets
        .get_opt(&name)
        .await
        .map_err(ReconcileError::api(format!("read Secret {name}")))?;
    let Some(text) = secret.as_ref().and_then(secrets::text) else {
        return Ok(());
    };
    let failed = |error: String| ReconcileError::other(format!("use Secret {name}"), error);
    let config = given::config(&text).await.map_err(failed)?;
    let client = kube_client(
        workload::client_config(config),
        route(context, cluster).await,
    )
    .map_err(|error| failed(error.to_string()))?;
    context.members.connect(member_key(cluster), client);
    let digest = Some(secrets::digest(&text));
    let uid = cluster.uid().unwrap_or_default();
    context.known.update(&uid, |known| {
        known.kubeconfig.digest.clone_from(&digest);
        known.connected_with = digest;
        known.probed_at = None;
    });
    context.wakers.clusters.wake_object(cluster);
    Ok(())
}

/// Straight, or over the SSH connection of the first control-plane host where that has jump hosts.
async fn route(context: &Context, cluster: &Cluster) -> Route {
    let by = cluster
        .annotations()
        .get(crate::api::names::ANNOTATION_INITIALIZED)
        .cloned();
    let host = by.and_then(|uid| first_host(context, &namespace(cluster), &uid));
    match host {
        Some(host) if !host.spec.ssh.jump.is_empty() => {
            let route = context.hosts.route(host.as_ref()).await;
            route.unwrap_or(Route::Direct)
        }
        _ => Route::Direct,
    }
}

/// Deletes what is left of the Cluster and is ours. What changed since it was last seen is looked at again first: it may
/// have been made another provider's.
async fn delete_children(context: &Context, cluster: &Cluster) -> Result<(), ReconcileError> {
    let key = Key::Cluster(namespace(cluster), cluster.name_any());
    let mut changed = Ok(());
    for deployment in context.stores.machine_deployments.by(&key) {
        changed = changed.and(delete(context, &deployment).await?);
    }
    for set in context.stores.machine_sets.by(&key) {
        changed = changed.and(delete(context, &set).await?);
    }
    for machine in context.stores.machines.by(&key) {
        changed = changed.and(delete(context, &machine).await?);
    }
    changed
}

/// Deletes an object that is ours and as it was last seen; the inner error says that it is not.
async fn delete<K>(
    context: &Context,
    object: &Arc<K>,
) -> Result<Result<(), ReconcileError>, ReconcileError>
where
    K: Shared + Clone + DeserializeOwned + std::fmt::Debug,
{
    let is_left_alone = unreadable(object.as_ref()).is_some() || !object.is_ours(&context.stores);
    if object.meta().deletion_timestamp.is_some() || is_left_alone {
        return Ok(Ok(()));
    }
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let api: Api<K> = Api::namespaced(context.client.clone(), &namespace);
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: object.uid(),
            resource_version: object.resource_version(),
        }),
        ..DeleteParams::background()
    };
    let what = format!("delete {} {namespace}/{name}", K::kind(&()));
    match api.delete(&name, &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Ok(())),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            Ok(Err(ReconcileError::Conflict { what }))
        }
        result => result.map(|_| Ok(())).map_err(ReconcileError::api(what)),
    }
}

async fn finish(context: &Context, cluster: &Cluster) -> Result<(), ReconcileError> {
    secrets::hold(context, cluster, false).await?;
    super::forget(context, cluster);
    patch::remove_finalizer(&context.engine, cluster, FINALIZER_CLUSTER).await?;
    tracing::info!(cluster = %cluster.name_any(), "cluster deleted");
    Ok(())
}
