//! Performs the actions of a plan. Every action is idempotent.

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

use super::{Clusters, addons, orphaned_members, route, secrets, seen, settings};
use crate::controllers::machine::{turn, vacant};
use crate::controllers::ownership::ProviderObject;
use crate::engine::{ActionOutcome, Chain, ReconcileError, patch};
use crate::pki::{Authorities, AuthoritySecret, kubeconfig};
use crate::remote::kube_client;
use crate::workload::{self, given};
use tatara_core::api::Cluster;
use tatara_core::api::names::{
    FIELD_MANAGER, FINALIZER_CLUSTER, FINALIZER_IN_USE, LABEL_CLUSTER, LABEL_MANAGED_BY,
    MANAGED_BY, kubeconfig_secret,
};
use tatara_core::cluster::live::end::is_deleted;
use tatara_core::cluster::plan::Action;
use tatara_core::cluster::{Certificates, Observed};
use tatara_core::{Key, finalizers};

/// Performs one action.
///
/// # Errors
/// `ReconcileError::Conflict` when an object was modified concurrently, `NotLeading` without
/// leadership, `Api` when the API server refuses a request, `Other` when a certificate or
/// kubeconfig is unusable.
pub async fn perform(
    controller: &Clusters,
    observed: &Observed,
    action: &Action,
    now: Timestamp,
) -> Result<ActionOutcome, ReconcileError> {
    let cluster = observed.cluster.as_ref();
    match action {
        Action::Adopt => {
            let change = |cluster: &Cluster| json!({ "metadata": { "finalizers": finalizers::with(cluster, FINALIZER_CLUSTER) } });
            patch::swap(&controller.base.engine, cluster, finalizers::basis, change).await?;
        }
        Action::ReturnTurn => vacant::give_back_by_act(&controller.turns, cluster).await?,
        Action::ReturnVacantTurn => vacant::give_back(&controller.turns, cluster).await?,
        Action::SettleTurn => turn::settle(&controller.turns, cluster).await?,
        Action::MakeCertificates => make_certificates(controller, cluster, now).await?,
        Action::WriteKubeconfig => write_kubeconfig(controller, observed, now).await?,
        Action::Connect => connect(controller, cluster).await?,
        Action::RemoveMember { id } => {
            return orphaned_members::remove(controller, cluster, *id).await;
        }
        Action::RecordSettings { settings, kept } => {
            settings::record(controller, cluster, settings, kept.as_deref()).await?;
        }
        Action::ApplySettings { from, to } => {
            return settings::apply(controller, observed, from, to).await;
        }
        Action::ForgetAddons { version } => {
            settings::forget_addons(controller, cluster, version).await?;
        }
        Action::ApplyAddons => {
            if let Ok(spec) = &observed.spec {
                return addons::apply(controller, cluster, spec, now).await;
            }
        }
        Action::HoldSecrets => {
            secrets::hold(controller, cluster, true).await?;
            let uid = cluster.uid().unwrap_or_default();
            controller
                .workloads
                .known
                .update(&uid, |known| known.secrets_held = true);
        }
        Action::DeleteChildren => delete_children(controller, cluster).await?,
        Action::Finish => finish(controller, cluster).await?,
    }
    Ok(ActionOutcome::Yes)
}

fn namespace(cluster: &Cluster) -> String {
    cluster.namespace().unwrap_or_default()
}

/// Creates the missing Secrets with create requests: of two concurrent managers one succeeds, and
/// both read the result.
async fn make_certificates(
    controller: &Clusters,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let (name, uid) = (cluster.name_any(), cluster.uid().unwrap_or_default());
    let none_is_there = match controller.workloads.known.get(&uid).certificates {
        Certificates::Missing(names) => names.len() == AuthoritySecret::ALL.len(),
        _ => false,
    };
    let found = if none_is_there {
        secrets::AuthorityState::default()
    } else {
        secrets::read_authorities(controller, cluster, true).await?
    };
    let (authorities, missing) =
        Authorities::load_or_generate(&name, &found.data, now).map_err(|error| {
            ReconcileError::other("make the certificate authorities", Chain(&error))
        })?;
    let mut made = Vec::new();
    for which in missing {
        let secret = secret(cluster, which.name(&name), authorities.secret_data(which));
        made.push(create(controller, cluster, &secret).await?);
    }
    tracing::info!(cluster = name, "certificate authorities made");
    if none_is_there {
        secrets::made(controller, cluster, authorities, &made);
    }
    controller.base.wakers.clusters.wake_object(cluster);
    Ok(())
}

/// Creates a missing Secret. If it exists after all, the next pass reads it.
async fn create(
    controller: &Clusters,
    cluster: &Cluster,
    secret: &Secret,
) -> Result<Secret, ReconcileError> {
    let (namespace, name) = (namespace(cluster), secret.name_any());
    let secrets: Api<Secret> = Api::namespaced(controller.base.client(), &namespace);
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PostParams::default()
    };
    let made = secrets.create(&params, secret).await;
    if matches!(&made, Err(kube::Error::Api(status)) if status.code == 409) {
        controller.secret_names.is_there(&namespace, &name);
        let uid = cluster.uid().unwrap_or_default();
        controller
            .workloads
            .known
            .update(&uid, |known| known.secrets_at = None);
    }
    let made = made.map_err(ReconcileError::api(format!("create Secret {name}")))?;
    seen::wrote(controller, cluster, &made);
    Ok(made)
}

/// A Secret of the cluster, which a finalizer protects until the Cluster is deleted; then it is
/// garbage-collected.
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
    controller: &Clusters,
    observed: &Observed,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let (cluster, name) = (observed.cluster.as_ref(), observed.cluster.name_any());
    let uid = cluster.uid().unwrap_or_default();
    let (Some(endpoint), Some(authorities)) = (
        &observed.endpoint,
        controller.workloads.known.get(&uid).authorities,
    ) else {
        return Ok(());
    };
    let failed = |error: crate::pki::PkiError| {
        ReconcileError::other("generate the kubeconfig", Chain(&error))
    };
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
    let mut secret = secret(cluster, kubeconfig_secret(&name), data.into());
    let written = match controller.workloads.known.get(&uid).kubeconfig.uid {
        None => create(controller, cluster, &secret).await?,
        present => {
            secret.metadata.uid = present;
            apply(controller, cluster, &secret).await?
        }
    };
    let kubeconfig = secrets::understood(cluster, Some(&written)).await;
    controller.workloads.known.update(&uid, |known| {
        known.unused = secrets::text(&written).map(Into::into);
        known.kubeconfig = kubeconfig;
    });
    Ok(())
}

/// Applies a Secret over the one that was read.
async fn apply(
    controller: &Clusters,
    cluster: &Cluster,
    secret: &Secret,
) -> Result<Secret, ReconcileError> {
    let name = secret.name_any();
    let secrets: Api<Secret> = Api::namespaced(controller.base.client(), &namespace(cluster));
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = secrets.patch(&name, &params, &Patch::Apply(secret)).await;
    if applied.is_err() {
        // the Secret may have been replaced since it was read
        seen::read_again(&controller.workloads.known, cluster);
    }
    let applied = applied.map_err(ReconcileError::api(format!("apply Secret {name}")))?;
    seen::wrote(controller, cluster, &applied);
    Ok(applied)
}

/// Creates a client from the kubeconfig Secret, the one that users have, and watches the Nodes.
async fn connect(controller: &Clusters, cluster: &Cluster) -> Result<(), ReconcileError> {
    let (uid, name) = (
        cluster.uid().unwrap_or_default(),
        kubeconfig_secret(&cluster.name_any()),
    );
    let mut unused = None;
    controller
        .workloads
        .known
        .update(&uid, |known| unused = known.unused.take());
    let text = if let Some(text) = unused {
        text.expose_secret().to_owned()
    } else {
        let secret = secrets::read(controller, &namespace(cluster), &name).await?;
        let Some(text) = secret.as_ref().and_then(secrets::text) else {
            return Ok(());
        };
        text
    };
    let failed = |error: String| ReconcileError::other(format!("use Secret {name}"), error);
    let config = given::config(&text).await.map_err(failed)?;
    let (route, jump) = route::choose(controller, cluster).await;
    let client = kube_client(workload::client_config(config), route, &namespace(cluster))
        .map_err(|error| failed(error.to_string()))?;
    controller.workloads.connect(cluster, client);
    let digest = Some(secrets::digest(&text));
    controller.workloads.known.update(&uid, |known| {
        known.kubeconfig.digest.clone_from(&digest);
        known.connected_with = digest;
        known.jump = jump;
        known.probed_at = None;
    });
    controller.base.wakers.clusters.wake_object(cluster);
    Ok(())
}

/// Deletes our remaining objects of the Cluster. An object that changed since it was last observed
/// is observed again first: it may belong to another provider now.
async fn delete_children(controller: &Clusters, cluster: &Cluster) -> Result<(), ReconcileError> {
    let key = Key::Cluster(namespace(cluster), cluster.name_any());
    let mut changed = Ok(());
    for deployment in controller.base.stores().machine_deployments.by(&key) {
        changed = changed.and(delete(controller, &deployment).await?);
    }
    for set in controller.base.stores().machine_sets.by(&key) {
        changed = changed.and(delete(controller, &set).await?);
    }
    for machine in controller.base.stores().machines.by(&key) {
        changed = changed.and(delete(controller, &machine).await?);
    }
    changed
}

/// Deletes an object that is ours and unchanged since it was observed; the inner error reports a
/// change.
async fn delete<K>(
    controller: &Clusters,
    object: &Arc<K>,
) -> Result<Result<(), ReconcileError>, ReconcileError>
where
    K: ProviderObject + Clone + DeserializeOwned + std::fmt::Debug,
{
    let is_ours = object.is_ours(controller.base.stores());
    if !is_deleted(object.as_ref(), is_ours) {
        return Ok(Ok(()));
    }
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let api: Api<K> = Api::namespaced(controller.base.client(), &namespace);
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

async fn finish(controller: &Clusters, cluster: &Cluster) -> Result<(), ReconcileError> {
    secrets::hold(controller, cluster, false).await?;
    controller.forget(cluster);
    patch::remove_finalizer(&controller.base.engine, cluster, FINALIZER_CLUSTER).await?;
    tracing::info!(cluster = %cluster.name_any(), "cluster deleted");
    Ok(())
}
