//! kubeadm's record of the cluster (ConfigMap `kubeadm-config`) has the version of a control plane before that joins.
//!
//! Here and not by `kubeadm init phase upload-config` on the newcomer: that has no credentials before it has joined. Only the
//! version changes; the rest of what `upload-config` writes (v1beta4, and the RBAC of the two ConfigMaps) is the same in all
//! versions of kubeadm that are supported.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::Machines;
use crate::api::conditions::{Finding, Reason};
use crate::api::names::ANNOTATION_ADDONS_DUE;
use crate::api::{Cluster, Machine};
use crate::core::control_plane::Members;
use crate::core::kubeadm::record::{RecordStep, may_go_back, step};
use crate::core::kubeadm::{Kept, KubernetesVersion, version};
use crate::core::machine::plan::{BOOTSTRAP, joining};
use crate::core::machine::{Lookup, Observed};
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::workload::kubeadm_config::{self, Record};

const MISSING: &str = "ConfigMap kube-system/kubeadm-config of the cluster has no ClusterConfiguration with a kubernetesVersion, and kubeadm join reads it. Restore it on a control plane: kubeadm init phase upload-config kubeadm";

/// What has to be written before the Machine joins.
enum Change {
    Nothing,
    Raise(Record, KubernetesVersion, String),
    SetBack(Record, KubernetesVersion, String),
}

/// Why kubeadm's record does not let the Machine join, before it takes the turn for that. Nothing is written.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer.
pub(super) async fn refuses(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
) -> Result<Option<Finding>, ReconcileError> {
    let members = observed.cluster.as_ref().map(|cluster| &cluster.etcd);
    let Some(Lookup::Known(members)) = members else {
        return Ok(None);
    };
    Ok(judge(controller, observed, cluster, members).await?.err())
}

/// Brings the record to the version of this Machine. A finding says why the Machine may not join.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer or the record was changed meanwhile; `Conflict`, `Api`
/// and `NotLeading` as for any write on the Cluster.
pub(super) async fn prepare(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
    members: &Members,
) -> Result<Option<Finding>, ReconcileError> {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Ok(Some(unconnected()));
    };
    let change = match judge(controller, observed, cluster, members).await? {
        Ok(change) => change,
        Err(finding) => return Ok(Some(finding)),
    };
    let (record, from, configuration, due) = match change {
        Change::Nothing => return Ok(None),
        Change::Raise(record, from, configuration) => {
            (record, from, configuration, wanted(observed))
        }
        Change::SetBack(record, from, configuration) => (record, from, configuration, None),
    };
    controller.base.engine.must_lead()?;
    // before a raise: whoever reads the higher record knows that the addons are to follow
    if let Some(due) = &due {
        remember(controller, cluster, Some(due)).await?;
    }
    let written = kubeadm_config::write(workload.client(), &record, &configuration).await;
    written.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
    if due.is_none() {
        remember(controller, cluster, None).await?;
    }
    let machine = &observed.marker.machine;
    tracing::info!(cluster = observed.marker.cluster, machine, %from, "wrote the version of a control plane that joins into kubeadm's record");
    Ok(None)
}

async fn judge(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
    members: &Members,
) -> Result<Result<Change, Finding>, ReconcileError> {
    let no = |reason, message: String| Ok(Err(Finding::no(BOOTSTRAP, reason, message)));
    let (Some(wanted), Some(workload)) = (wanted(observed), controller.workloads.get(cluster))
    else {
        return Ok(Err(unconnected()));
    };
    let read = kubeadm_config::read(workload.client(), Kept::Cluster).await;
    let read =
        read.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
    let Some(record) = read else {
        return no(Reason::WaitingForControlPlane, MISSING.into());
    };
    match step(&record.text, &wanted) {
        RecordStep::Keep => Ok(Ok(Change::Nothing)),
        RecordStep::Unreadable => no(Reason::WaitingForControlPlane, MISSING.into()),
        RecordStep::Newer {
            recorded,
            configuration,
        } => {
            let runs = others(controller, observed, cluster);
            let due = cluster.annotations().get(ANNOTATION_ADDONS_DUE);
            let due = due.map(String::as_str);
            let versions = (&recorded, &wanted);
            if may_go_back(versions, due, &runs, members.voters().count()) {
                return Ok(Ok(Change::SetBack(record, recorded, configuration)));
            }
            let message = joining::recorded(observed, &recorded, &wanted);
            no(Reason::VersionSkew, message)
        }
        RecordStep::Raise {
            from,
            configuration,
        } => match version::check_control_plane_step(&from, &wanted) {
            Ok(()) => Ok(Ok(Change::Raise(record, from, configuration))),
            Err(error) => no(Reason::VersionSkew, error.to_string()),
        },
    }
}

fn unconnected() -> Finding {
    let message = "the cluster's API is not connected yet";
    Finding::no(BOOTSTRAP, Reason::WaitingForControlPlane, message)
}

fn wanted(observed: &Observed) -> Option<KubernetesVersion> {
    let versions = observed.machine.versions()?;
    versions.control_plane.as_deref()?.parse().ok()
}

/// What the API servers of the other control planes said that they run.
fn others(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
) -> Vec<Option<KubernetesVersion>> {
    let machines = controller.control_planes.machines(cluster);
    let runs = |machine: &Machine| {
        let status = machine.status.as_ref()?;
        let version = status.versions.as_ref()?.control_plane.as_ref()?;
        version.parse().ok()
    };
    let others = machines.iter();
    let others = others.filter(|machine| machine.uid() != observed.machine.uid());
    others.map(|machine| runs(machine)).collect()
}

async fn remember(
    controller: &Machines,
    cluster: &Cluster,
    due: Option<&KubernetesVersion>,
) -> Result<(), ReconcileError> {
    let due = due.map(ToString::to_string);
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_ADDONS_DUE): due } } });
    patch::write(&controller.base.engine, cluster, change)
        .await
        .map(drop)
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
