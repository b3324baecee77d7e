//! kubeadm's record of the cluster (ConfigMap `kubeadm-config`) has the version of a control plane
//! before that joins.
//!
//! Here and not by `kubeadm init phase upload-config` on the newcomer: that has no credentials
//! before it has joined. What changes: [`live`]. A worker joins with a kubeadm of the minor version
//! that stands there.

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::{Value, json};

use super::Machines;
use super::owned;
use super::perform::wake_again;
use crate::controllers::workloads::Workloads;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::workload::{
    self,
    kubeadm_config::{self, Record},
};
use tatara_core::api::Cluster;
use tatara_core::api::conditions::Finding;
use tatara_core::api::names::ANNOTATION_ADDONS_DUE;
use tatara_core::control_plane::Members;
use tatara_core::kubeadm::{Kept, KubernetesVersion, record};
use tatara_core::machine::live::record::{self as live, Fit, JoinFacts, Recorded, Writes};
use tatara_core::machine::{Lookup, Observed};
use tatara_core::node::JobKind;

/// What kubeadm has recorded of a Cluster, as it was last read beside the version that the Cluster
/// has.
pub(super) fn known(workloads: &Workloads, cluster: &Cluster) -> Option<KubernetesVersion> {
    let known = workloads.known.get(&cluster.uid().unwrap_or_default());
    known.recorded_of(cluster)
}

fn note(controller: &Machines, cluster: &Cluster, version: KubernetesVersion) {
    let (known, uid) = (
        &controller.workloads.known,
        cluster.uid().unwrap_or_default(),
    );
    known.update(&uid, |known| known.note_recorded(cluster, version));
}

/// Requires that the host of a worker is prepared with a kubeadm of the minor version that is
/// recorded now. That is read before each join; before a preparation only if it is not the first
/// one and nothing is known of the record, as after a restart. A finding says why the job is not
/// started.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted.
pub(super) async fn fits(
    controller: &Machines,
    observed: &Observed,
    job: JobKind,
) -> Result<Option<Finding>, ReconcileError> {
    if !live::is_read(observed, job) {
        return Ok(None);
    }
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let cluster = controller.base.stores().clusters.get(namespace, name);
    let cluster =
        cluster.ok_or_else(|| ReconcileError::other("join", "the Cluster was deleted"))?;
    let recorded = recorded(controller, &cluster).await;
    Ok(match live::fits(observed, job, recorded) {
        Fit::Yes => None,
        Fit::NotYet(finding) => Some(finding),
        Fit::Differs(finding) => {
            wake_again(controller, observed);
            Some(finding)
        }
    })
}

async fn recorded(controller: &Machines, cluster: &Cluster) -> Recorded {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Recorded::Unconnected;
    };
    let record = match kubeadm_config::read(workload.client(), Kept::Cluster).await {
        Ok(record) => record,
        Err(error) => return Recorded::Unread(error.sentence()),
    };
    match record.and_then(|record| record::version(&record.text)) {
        Some(version) => {
            note(controller, cluster, version.clone());
            Recorded::Version(version)
        }
        None => Recorded::Missing,
    }
}

/// Why kubeadm's record does not let the Machine join, before it takes the turn for that. Nothing
/// is written.
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
/// `ReconcileError::Other` when the workload cluster does not answer or the record was changed
/// meanwhile; `Conflict`, `Api` and `NotLeading` as for any write on the Cluster.
pub(super) async fn prepare(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
    members: &Members,
) -> Result<Option<Finding>, ReconcileError> {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Ok(Some(live::unconnected()));
    };
    let (record, writes) = match judge(controller, observed, cluster, members).await? {
        Ok(due) => due,
        Err(finding) => return Ok(Some(finding)),
    };
    if writes.announced.is_some() || writes.configuration.is_some() {
        controller.base.engine.must_lead()?;
    }
    if let Some(due) = &writes.announced {
        remember(controller, cluster, Some(due)).await?;
    }
    if let Some(configuration) = &writes.configuration {
        let written = kubeadm_config::write(workload.client(), &record, configuration).await;
        written.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
        owned::tell(controller, cluster, &writes.differences).await;
    }
    let raised = writes.from.as_ref().zip(live::wanted(observed));
    if let Some((_, version)) = &raised {
        note(controller, cluster, version.clone());
    }
    if writes.is_not_due {
        remember(controller, cluster, None).await?;
    }
    if let Some((from, _)) = raised {
        let machine = &observed.marker.machine;
        tracing::info!(cluster = observed.marker.cluster, machine, %from, "wrote the version of a control plane that joins into kubeadm's record");
    }
    Ok(None)
}

async fn judge(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
    members: &Members,
) -> Result<Result<(Record, Writes), Finding>, ReconcileError> {
    let (Some(wanted), Some(workload)) =
        (live::wanted(observed), controller.workloads.get(cluster))
    else {
        return Ok(Err(live::unconnected()));
    };
    let read = kubeadm_config::read(workload.client(), Kept::Cluster).await;
    let record =
        read.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
    if let Some(version) = record
        .as_ref()
        .and_then(|record| record::version(&record.text))
    {
        note(controller, cluster, version);
    }
    let owned = match &record {
        Some(record) => owned::differs(controller, observed, cluster, (&wanted, record)).await?,
        None => Ok(None),
    };
    let machines = controller.control_planes.machines(cluster);
    let due = live::due(cluster);
    let facts = JoinFacts {
        text: record.as_ref().map(|record| &*record.text),
        owned,
        due: due.as_deref(),
        runs: live::running(observed, machines.iter().map(AsRef::as_ref)),
        members,
    };
    let writes = live::may_join(observed, &wanted, facts);
    Ok(writes.and_then(|writes| match record {
        Some(record) => Ok((record, writes)),
        None => Err(live::missing()),
    }))
}

/// Sets back what the Cluster's spec owns, before kubeadm renders static pods by it. A finding says
/// why that cannot be told.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer or the record was changed
/// meanwhile; `NotLeading` without leadership.
pub(super) async fn before_update(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
) -> Result<Option<Finding>, ReconcileError> {
    let (Some(wanted), Some(workload)) =
        (live::wanted(observed), controller.workloads.get(cluster))
    else {
        return Ok(None);
    };
    let failed =
        |error: workload::Error| ReconcileError::other("update a control plane", error.sentence());
    let read = kubeadm_config::read(workload.client(), Kept::Cluster).await;
    let Some(record) = read.map_err(failed)? else {
        // kubeadm says on the host what it lacks
        return Ok(None);
    };
    let owned = owned::differs(controller, observed, cluster, (&wanted, &record)).await?;
    match live::may_update(owned) {
        Ok(None) => Ok(None),
        Ok(Some(set_back)) => {
            controller.base.engine.must_lead()?;
            let configuration = &set_back.configuration;
            let written = kubeadm_config::write(workload.client(), &record, configuration).await;
            written.map_err(failed)?;
            owned::tell(controller, cluster, &set_back.differences).await;
            Ok(None)
        }
        Err(finding) => Ok(Some(finding)),
    }
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
    let cluster = clusters.get(namespace, name);
    let is_due = |cluster: &Arc<Cluster>| live::due(cluster).as_deref() == Some(version);
    let Some(cluster) = cluster.filter(is_due) else {
        return Ok(ActionOutcome::Yes);
    };
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_ADDONS_DUE): Value::Null } } });
    patch::swap(&controller.base.engine, cluster.as_ref(), live::due, |_| {
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

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
