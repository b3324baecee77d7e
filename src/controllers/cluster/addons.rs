//! Addons: manifests from ConfigMaps and Secrets, applied once the API is available and again when
//! they change.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, ResourceExt};

use super::Clusters;
use crate::engine::{ActionOutcome, ReconcileError};
use crate::remote::Places;
use crate::workload;
use crate::workload::addons::{self, Applying, Outcome};
use crate::workload::manifests::{self, Document, Rank};
use tatara_core::Next;
use tatara_core::api::cluster_provider_spec::{Addon, AddonKind};
use tatara_core::api::{Cluster, ClusterProviderSpec};
use tatara_core::cluster::{Addons, Attempt, ReadAt};

/// Bytes of all addons of a Cluster.
const BYTES: usize = 8 << 20;
/// Clusters of one namespace whose addons are in memory.
static AT_ONCE: LazyLock<Places> = LazyLock::new(|| Places::new(2));
/// How soon a Cluster looks again that found no place. It does not wait for one: its pass has more
/// to do.
const FULL: Duration = Duration::from_secs(10);

/// State of the addons of a cluster.
#[derive(Default)]
pub struct Standing {
    /// The result of the last attempt.
    pub state: Addons,
    /// They must be applied: they or the Cluster changed, or the last attempt was incomplete.
    pub due: bool,
    /// When to check again.
    pub next: Next,
}

/// Observes the addons of a cluster.
pub fn observe(
    controller: &Clusters,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    now: Timestamp,
) -> Standing {
    let uid = cluster.uid().unwrap_or_default();
    let standing = |state, due, next| Standing { state, due, next };
    if spec.addons.is_empty() {
        controller.sources.forget(&uid);
        return standing(Addons::Applied, false, Next::OnChange);
    }
    let read = read_at(controller, cluster);
    match controller.workloads.known.get(&uid).addons {
        Some(last) => {
            let (due, next) = (last.is_due(read, now), last.again(read, now));
            standing(last.told(), due, next)
        }
        None => standing(Addons::NotYet, true, Next::OnChange),
    }
}

fn read_at(controller: &Clusters, cluster: &Cluster) -> ReadAt {
    ReadAt {
        generation: cluster.metadata.generation,
        revision: controller
            .sources
            .revision(&cluster.uid().unwrap_or_default()),
    }
}

/// Applies the addons, if they differ from what was applied. Wakes the Cluster only if the result
/// changed. While as many others of its namespace as may be apply theirs, which may last, it looks
/// again.
///
/// # Errors
/// `ReconcileError::Api` when a ConfigMap or Secret with manifests cannot be read.
pub async fn apply(
    controller: &Clusters,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    now: Timestamp,
) -> Result<ActionOutcome, ReconcileError> {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Ok(ActionOutcome::Yes);
    };
    let place = AT_ONCE.of(&cluster.namespace().unwrap_or_default());
    let Ok(_place) = place.try_acquire_owned() else {
        return Ok(ActionOutcome::LookAgain(FULL));
    };
    let uid = cluster.uid().unwrap_or_default();
    controller.sources.follow(cluster, &spec.addons);
    let read = read_at(controller, cluster);
    let before = controller.workloads.known.get(&uid).addons;
    let came = attempt(
        controller,
        cluster,
        spec,
        workload.client(),
        before.as_ref(),
    )
    .await?;
    let last = Attempt::new(before.as_ref(), came, read, now);
    let is_news = before.is_none_or(|before| before.told() != last.told());
    controller
        .workloads
        .known
        .update(&uid, |known| known.addons = Some(last));
    if is_news {
        controller.base.wakers.clusters.wake_object(cluster);
    }
    Ok(ActionOutcome::Yes)
}

/// Digest of the addons' sources, and the result of applying them. They are decoded one after
/// another, so that one is in memory.
async fn attempt(
    controller: &Clusters,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    workload: &Client,
    before: Option<&Attempt>,
) -> Result<(String, Addons), ReconcileError> {
    let streams = match sources(controller, cluster, spec).await? {
        Ok(streams) => streams,
        Err(problem) => return Ok((String::new(), Addons::Failed(problem))),
    };
    let digest = manifests::digest(
        streams
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    if before.is_some_and(|last| last.is_of(&digest)) {
        return Ok((digest, Addons::Applied));
    }
    // nothing is applied while one of them cannot be read
    let mut ranks = BTreeSet::new();
    for (name, text) in &streams {
        match manifests::parse(name, text) {
            Ok(parsed) => ranks.extend(parsed.iter().map(Document::rank)),
            Err(error) => return Ok((digest, Addons::Failed(error.to_string()))),
        }
    }
    let state = match apply_streams(workload, &streams, ranks).await {
        Err(error) => Addons::Pending(error.sentence()),
        Ok(outcome) if !outcome.failed.is_empty() => {
            Addons::Refused(addons::sentences(&outcome.failed))
        }
        Ok(outcome) if !outcome.pending.is_empty() => {
            Addons::Pending(addons::sentences(&outcome.pending))
        }
        Ok(_) => Addons::Applied,
    };
    Ok((digest, state))
}

/// Applies the objects of all streams, those of a rank after those of the ranks before it.
async fn apply_streams(
    workload: &Client,
    streams: &[(String, String)],
    ranks: BTreeSet<Rank>,
) -> Result<Outcome, workload::Error> {
    let mut applying = Applying::default();
    for rank in ranks {
        for (name, text) in streams {
            let mut documents = manifests::parse(name, text).unwrap_or_default();
            documents.retain(|document| document.rank() == rank);
            for document in documents {
                applying.add(workload, &document).await?;
            }
        }
    }
    Ok(applying.outcome)
}

/// The YAML streams in order, each with its name for messages.
async fn sources(
    controller: &Clusters,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
) -> Result<Result<Vec<(String, String)>, String>, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let mut streams = Vec::new();
    let mut bytes = 0;
    for addon in &spec.addons {
        let Some(data) = read(controller, &namespace, addon).await? else {
            return Ok(Err(format!(
                "{} {}, named by spec.providerSpec.value.addons, does not exist in namespace {namespace}; create it, or correct the name",
                kind(addon),
                addon.name
            )));
        };
        bytes += data.iter().map(|(_, text)| text.len()).sum::<usize>();
        if let Some(problem) = too_large(bytes) {
            return Ok(Err(problem));
        }
        streams.extend(
            data.into_iter()
                .map(|(key, text)| (format!("{} {}, key {key}", kind(addon), addon.name), text)),
        );
    }
    Ok(Ok(streams))
}

fn too_large(bytes: usize) -> Option<String> {
    (bytes > BYTES).then(|| {
        format!(
            "the addons of spec.providerSpec.value have more than {} MiB together; remove some, and apply them by another way, \
such as Helm with the cluster's kubeconfig",
            BYTES >> 20
        )
    })
}

fn kind(addon: &Addon) -> &'static str {
    match addon.kind {
        AddonKind::ConfigMap => "ConfigMap",
        AddonKind::Secret => "Secret",
    }
}

async fn read(
    controller: &Clusters,
    namespace: &str,
    addon: &Addon,
) -> Result<Option<Vec<(String, String)>>, ReconcileError> {
    let what = ReconcileError::api(format!("read {} {namespace}/{}", kind(addon), addon.name));
    match addon.kind {
        AddonKind::ConfigMap => {
            let api: Api<ConfigMap> = Api::namespaced(controller.base.client(), namespace);
            let found = api.get_opt(&addon.name).await.map_err(what)?;
            Ok(found.map(|map| map.data.unwrap_or_default().into_iter().collect()))
        }
        AddonKind::Secret => {
            let api: Api<Secret> = Api::namespaced(controller.base.client(), namespace);
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::manager::plane_tests::{ApiServer, Plane, cluster};

    /// What becomes of eight ConfigMaps of 1 MiB, and a Secret of so many bytes.
    async fn read(bytes: usize) -> Result<usize, String> {
        let path = |kind: &str, name: &str| format!("/api/v1/namespaces/n/{kind}/{name}");
        let names: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
        let maps = names.iter().map(|name| {
            let data = json!({"a": "x".repeat(1 << 19), "b": "x".repeat(1 << 19)});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
            (path("configmaps", name), map)
        });
        let data = json!({"c": STANDARD.encode("x".repeat(bytes))});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data});
        let server = ApiServer::of(maps.chain([(path("secrets", "s"), secret)]));
        let addon = |kind, name: &str| Addon {
            kind,
            name: name.into(),
        };
        let maps = names.iter().map(|name| addon(AddonKind::ConfigMap, name));
        let spec = ClusterProviderSpec {
            addons: maps.chain([addon(AddonKind::Secret, "s")]).collect(),
            ..ClusterProviderSpec::default()
        };
        let plane = Plane::of(&server);
        let read = sources(&plane.controllers.clusters, &cluster(), &spec).await;
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        read.map(|streams| streams.len())
    }

    #[tokio::test]
    async fn addons_have_a_size_together_whatever_holds_them() {
        assert_eq!(BYTES, 8 << 20);
        assert_eq!(read(0).await, Ok(17));
        let told = read(1).await.expect_err("too large");
        assert!(
            told.contains("more than 8 MiB together; remove some"),
            "{told}"
        );
    }
}
