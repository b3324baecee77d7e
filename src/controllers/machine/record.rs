//! kubeadm's record of the cluster (ConfigMap `kubeadm-config`) has the version of a control plane before that joins.
//!
//! Here and not by `kubeadm init phase upload-config` on the newcomer: that has no credentials before it has joined. Only the
//! version changes; the rest of what `upload-config` writes (v1beta4, and the RBAC of the two ConfigMaps) is the same in all
//! versions of kubeadm that are supported.

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::{Value, json};

use super::Machines;
use crate::api::Cluster;
use crate::api::conditions::{Finding, Reason};
use crate::api::names::ANNOTATION_ADDONS_DUE;
use crate::core::kubeadm::KubernetesVersion;
use crate::core::kubeadm::record::{RecordStep, step};
use crate::core::machine::Observed;
use crate::core::machine::plan::{BOOTSTRAP, joining};
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::workload::kubeadm_config;

/// Raises the record to the version of this Machine where it is older. A finding says why the Machine may not join.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer or the record was changed meanwhile; `Conflict`, `Api`
/// and `NotLeading` as for any write on the Cluster.
pub(super) async fn prepare(
    controller: &Machines,
    observed: &Observed,
    cluster: &Arc<Cluster>,
) -> Result<Option<Finding>, ReconcileError> {
    let no = |reason, message: String| Ok(Some(Finding::no(BOOTSTRAP, reason, message)));
    let versions = observed.machine.versions();
    let wanted = versions.and_then(|versions| versions.control_plane.as_deref());
    let wanted = wanted.and_then(|version| version.parse::<KubernetesVersion>().ok());
    let (Some(wanted), Some(workload)) = (wanted, controller.workloads.get(cluster)) else {
        let message = "the cluster's API is not connected yet".into();
        return no(Reason::WaitingForControlPlane, message);
    };
    let client = workload.client();
    let read = kubeadm_config::read(client).await;
    let read =
        read.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
    let missing = "ConfigMap kube-system/kubeadm-config of the cluster has no ClusterConfiguration with a kubernetesVersion, and kubeadm join reads it. Restore it: kubeadm init phase upload-config kubeadm, on a control plane";
    let Some(record) = read else {
        return no(Reason::WaitingForControlPlane, missing.into());
    };
    match step(&record.configuration, &wanted) {
        RecordStep::Keep => Ok(None),
        RecordStep::Unreadable => no(Reason::WaitingForControlPlane, missing.into()),
        RecordStep::Newer(recorded) => {
            let message = joining::behind(observed, &recorded, &wanted);
            no(Reason::VersionSkew, message)
        }
        RecordStep::Raise {
            from,
            configuration,
        } => {
            controller.base.engine.must_lead()?;
            // first: whoever reads the higher record knows that the addons are to follow
            let due = json!({ "metadata": { "annotations": { (ANNOTATION_ADDONS_DUE): wanted.to_string() } } });
            patch::write(&controller.base.engine, cluster.as_ref(), due).await?;
            let written = kubeadm_config::write(client, &record, &configuration).await;
            written
                .map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
            tracing::info!(cluster = observed.marker.cluster, machine = observed.marker.machine, %from, to = %wanted, "raised the version that kubeadm has recorded");
            Ok(None)
        }
    }
}

/// kubeadm's addons have this version, so that nothing is due any more.
///
/// # Errors
/// `ReconcileError::Conflict`, `Api` and `NotLeading` as for any write on the Cluster.
pub(super) async fn end_addons(
    controller: &Machines,
    observed: &Observed,
    version: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let clusters = &controller.base.stores().clusters;
    let due = |cluster: &Cluster| cluster.annotations().get(ANNOTATION_ADDONS_DUE).cloned();
    let cluster = clusters.get(namespace, name);
    let Some(cluster) = cluster.filter(|cluster| due(cluster).as_deref() == Some(version)) else {
        return Ok(ActionOutcome::Yes);
    };
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_ADDONS_DUE): Value::Null } } });
    patch::swap(&controller.base.engine, cluster.as_ref(), due, |_| {
        change.clone()
    })
    .await?;
    tracing::info!(
        cluster = name,
        version,
        "kubeadm's addons have the version of the control plane"
    );
    Ok(ActionOutcome::Yes)
}
