//! kubeadm's ConfigMaps in the cluster follow the settings of the Cluster. Only what was edited changes in them.

use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::Clusters;
use crate::api::names::{ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_KEPT};
use crate::api::{Cluster, ClusterProviderSpec};
use crate::core::Key;
use crate::core::cluster::Observed;
use crate::core::kubeadm::{ChangeError, ClusterInput, Endpoint, Kept, KubernetesVersion, change};
use crate::core::settings::{self, CLUSTER, KUBE_PROXY, KUBELET, Settings};
use crate::engine::{ReconcileError, patch};
use crate::workload::kubeadm_config::{self, Document};

const WHAT: &str = "apply the settings of the Cluster";

/// What kubeadm is told of a Cluster.
pub(super) fn input(
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    version: KubernetesVersion,
) -> ClusterInput {
    let endpoint = spec.control_plane_endpoint.as_ref();
    let endpoint = Endpoint {
        host: endpoint.map_or_else(|| "127.0.0.1".into(), |endpoint| endpoint.host.clone()),
        port: endpoint.map_or(6443, |endpoint| endpoint.port),
    };
    let network = &cluster.spec.cluster_network;
    ClusterInput::of(&cluster.name_any(), network, version, endpoint)
}

/// The settings that a control-plane Machine was made with, while the Cluster has no record of them.
pub(super) fn made_with(controller: &Clusters, cluster: &Cluster) -> Option<Settings> {
    if cluster.annotations().contains_key(ANNOTATION_SETTINGS) {
        return None;
    }
    let key = Key::ControlPlane(cluster.namespace()?, cluster.name_any());
    let machines = controller.base.stores().machines.by(&key);
    let recorded = |field: &str| {
        let mut all = machines
            .iter()
            .filter_map(|machine| settings::recorded(machine.annotations()));
        // the one that ran kubeadm init knows of kube-proxy too
        all.find(|recorded| recorded.contains_key(field))
    };
    recorded(KUBE_PROXY).or_else(|| recorded(CLUSTER))
}

/// Records what kubeadm's ConfigMaps have.
///
/// # Errors
/// `ReconcileError::Conflict`, `Api` and `NotLeading` as for any write on the Cluster.
pub(super) async fn record(
    controller: &Clusters,
    cluster: &Cluster,
    settings: &Settings,
    kept: Option<&str>,
) -> Result<(), ReconcileError> {
    let text = settings::text(settings);
    let annotations = json!({ (ANNOTATION_SETTINGS): text, (ANNOTATION_SETTINGS_KEPT): kept });
    let change = json!({ "metadata": { "annotations": annotations } });
    let now = |cluster: &Cluster| cluster.annotations().get(ANNOTATION_SETTINGS).cloned();
    patch::swap(&controller.base.engine, cluster, now, |_| change.clone())
        .await
        .map(drop)
}

/// Carries an edit into the ConfigMaps, and records it. After a manager that was stopped in between it is done again, and
/// changes nothing.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer, or a ConfigMap cannot be used; `Conflict`, `Api` and
/// `NotLeading` as for any write on the Cluster.
pub(super) async fn apply(
    controller: &Clusters,
    observed: &Observed,
    from: &Settings,
    to: &Settings,
) -> Result<(), ReconcileError> {
    let cluster = observed.cluster.as_ref();
    let (Ok(spec), Some(workload)) = (&observed.spec, controller.workloads.get(cluster)) else {
        return Ok(());
    };
    controller.base.engine.must_lead()?;
    let refused = |document: Document, why: String| {
        let message = format!(
            "ConfigMap kube-system/{}: {why}. Restore it on a control plane, for example with kubeadm init phase upload-config; until then, no node gets the settings",
            document.name()
        );
        ReconcileError::other(WHAT, message)
    };
    // the version cancels out: it is in what was and in what is to be
    let newest = format!("v1.{}.0", crate::core::kubeadm::version::NEWEST_MINOR);
    let version = KubernetesVersion::parse("version", &newest);
    let input = input(
        cluster,
        spec,
        version.map_err(|error| ReconcileError::other(WHAT, error))?,
    );
    let documents = [
        (Document::Cluster, Kept::Cluster, CLUSTER),
        (Document::Kubelet, Kept::Kubelet, KUBELET),
        (Document::KubeProxy, Kept::KubeProxy, KUBE_PROXY),
    ];
    for (document, kept, field) in documents {
        let (old, new) = (part(from, field), part(to, field));
        if old == new {
            continue;
        }
        let failed =
            |error: crate::workload::error::Error| ReconcileError::other(WHAT, error.sentence());
        let read = kubeadm_config::read(workload.client(), document).await;
        let Some(record) = read.map_err(failed)? else {
            // it came from elsewhere, or kubeadm was told to leave it out
            if document == Document::KubeProxy {
                continue;
            }
            return Err(refused(document, "it does not exist, or is empty".into()));
        };
        let changed = change(&input, kept, &record.text, &old, &new);
        let changed = changed.map_err(|error: ChangeError| refused(document, error.to_string()))?;
        if let Some(text) = changed {
            let written = kubeadm_config::write(workload.client(), &record, &text).await;
            written.map_err(failed)?;
        }
        if document == Document::KubeProxy {
            let digest = settings::digest_of(&new);
            let restarted = kubeadm_config::restart_kube_proxy(workload.client(), &digest).await;
            restarted.map_err(failed)?;
        }
    }
    record_applied(controller, cluster, to).await
}

async fn record_applied(
    controller: &Clusters,
    cluster: &Cluster,
    to: &Settings,
) -> Result<(), ReconcileError> {
    record(controller, cluster, to, None).await?;
    tracing::info!(cluster = %cluster.name_any(), "kubeadm's ConfigMaps have the settings of the Cluster");
    Ok(())
}

fn part(settings: &Settings, field: &str) -> Map<String, Value> {
    let part = settings.get(field).and_then(Value::as_object);
    part.cloned().unwrap_or_default()
}
