//! Addons: manifests of ConfigMaps and Secrets, applied once the API answers and again when they
//! change.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Api, ResourceExt};

use super::observed::Addons;
use crate::api::cluster_provider_spec::{Addon, AddonKind};
use crate::api::{Cluster, ClusterProviderSpec};
use crate::controllers::ReconcileError;
use crate::manager::Context;
use crate::workload::{addons, manifests};

/// How long after a refusal it is tried again, although nothing has changed: what refused may be the
/// cluster itself, which has only just been made.
const RETRY: SignedDuration = SignedDuration::from_secs(300);

/// How the addons of a cluster stand. Their sources are read again when they or the Cluster changed, and
/// when something is still to be done.
pub fn observe(
    context: &Context,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    now: Timestamp,
) -> Addons {
    let uid = cluster.uid().unwrap_or_default();
    if spec.addons.is_empty() {
        context.sources.forget(&uid);
        return Addons::Applied;
    }
    let known = context.known.get(&uid);
    let is_same = known.addons_generation == cluster.metadata.generation
        && known.addons_revision == context.sources.revision(&uid);
    let is_early = known
        .addons_read_at
        .is_some_and(|at| now.duration_since(at) < RETRY);
    match &known.addons {
        Some((_, Addons::Applied)) if is_same => Addons::Applied,
        Some((_, state @ Addons::Failed(_))) if is_same && is_early => state.clone(),
        Some((_, state @ Addons::Pending(_))) => state.clone(),
        _ => Addons::Due,
    }
}

/// Applies the addons, if they differ from what was applied.
pub async fn apply(
    context: &Context,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let Some(member) = context.member(cluster) else {
        return Ok(());
    };
    let uid = cluster.uid().unwrap_or_default();
    context.sources.follow(cluster, &spec.addons);
    let revision = context.sources.revision(&uid);
    let remember = |digest: String, state: Addons| {
        context.known.update(&uid, |known| {
            known.addons = Some((digest, state));
            known.addons_read_at = Some(now);
            known.addons_revision = revision;
            known.addons_generation = cluster.metadata.generation;
        });
    };
    let streams = match sources(context, cluster, spec).await? {
        Ok(streams) => streams,
        Err(problem) => {
            remember(String::new(), Addons::Failed(problem));
            return Ok(());
        }
    };
    let digest = manifests::digest(
        streams
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    let known = context.known.get(&uid);
    if known
        .addons
        .as_ref()
        .is_some_and(|(applied, state)| *applied == digest && *state == Addons::Applied)
    {
        remember(digest, Addons::Applied);
        return Ok(());
    }
    let mut documents = Vec::new();
    for (name, text) in &streams {
        match manifests::parse(name, text) {
            Ok(parsed) => documents.extend(parsed),
            Err(error) => {
                remember(digest, Addons::Failed(error.to_string()));
                return Ok(());
            }
        }
    }
    let outcome = addons::apply(member.client(), documents).await;
    let state = match outcome {
        Err(error) => Addons::Pending(error.sentence()),
        Ok(outcome) => {
            let sentences = |problems: &[addons::Problem]| {
                problems
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("; ")
            };
            if !outcome.failed.is_empty() {
                Addons::Failed(sentences(&outcome.failed))
            } else if !outcome.pending.is_empty() {
                Addons::Pending(sentences(&outcome.pending))
            } else {
                Addons::Applied
            }
        }
    };
    remember(digest, state);
    context.wakers.clusters.wake_object(cluster);
    Ok(())
}

/// The YAML streams, in order, each with its name for people.
async fn sources(
    context: &Context,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
) -> Result<Result<Vec<(String, String)>, String>, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let mut streams = Vec::new();
    for addon in &spec.addons {
        let Some(data) = read(context, &namespace, addon).await? else {
            return Ok(Err(format!(
                "{} {}, named by spec.providerSpec.value.addons, does not exist in namespace {namespace}; create it",
                kind(addon),
                addon.name
            )));
        };
        streams.extend(
            data.into_iter()
                .map(|(key, text)| (format!("{} {}, key {key}", kind(addon), addon.name), text)),
        );
    }
    Ok(Ok(streams))
}

fn kind(addon: &Addon) -> &'static str {
    match addon.kind {
        AddonKind::ConfigMap => "ConfigMap",
        AddonKind::Secret => "Secret",
    }
}

async fn read(
    context: &Context,
    namespace: &str,
    addon: &Addon,
) -> Result<Option<Vec<(String, String)>>, ReconcileError> {
    let what = ReconcileError::api(format!("read {} {namespace}/{}", kind(addon), addon.name));
    match addon.kind {
        AddonKind::ConfigMap => {
            let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
            let found = api.get_opt(&addon.name).await.map_err(what)?;
            Ok(found.map(|map| map.data.unwrap_or_default().into_iter().collect()))
        }
        AddonKind::Secret => {
            let api: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
            let found = api.get_opt(&addon.name).await.map_err(what)?;
            let text =
                |bytes: k8s_openapi::ByteString| String::from_utf8_lossy(&bytes.0).into_owned();
            Ok(found.map(|secret| {
                secret
                    .data
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(k, v)| (k, text(v)))
                    .collect()
            }))
        }
    }
}
