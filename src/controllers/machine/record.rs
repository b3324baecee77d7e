//! kubeadm's record of the cluster (ConfigMap `kubeadm-config`) has the version of a control plane before that joins.
//!
//! Here and not by `kubeadm init phase upload-config` on the newcomer: that has no credentials before it has joined. Only the
//! version changes, and what the Cluster's spec owns where somebody edited it ([`super::owned`]); the rest of what `upload-config` writes (v1beta4, and the RBAC of the two ConfigMaps) is the same in all
//! versions of kubeadm that are supported. A worker joins with a kubeadm of the minor version that stands there.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::Machines;
use super::owned;
use super::perform::{seen, wake_again};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::ANNOTATION_ADDONS_DUE;
use crate::api::{Cluster, Machine};
use crate::controllers::workloads::Workloads;
use crate::core::control_plane::Members;
use crate::core::kubeadm::record::{self, RecordStep, may_go_back, step};
use crate::core::kubeadm::{Kept, KubernetesVersion, version};
use crate::core::machine::plan::{BOOTSTRAP, joining, recorded};
use crate::core::machine::{Lookup, Observed};
use crate::core::node::{JobKind, UnitState};
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::workload::{
    self,
    kubeadm_config::{self, Record},
};

const MISSING: &str = "ConfigMap kube-system/kubeadm-config of the cluster has no ClusterConfiguration with a kubernetesVersion, and kubeadm join reads it. Restore it from a backup; or, on a control plane, from a file with the ClusterConfiguration of this cluster (kubernetesVersion, controlPlaneEndpoint, networking, and what the Cluster sets): kubeadm init phase upload-config kubeadm --config FILE. Without --config that writes defaults";

/// What kubeadm has recorded of a Cluster, as it was last read beside the version that the Cluster has.
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

/// Requires that the host of a worker is prepared with a kubeadm of the minor version that is recorded now. That is read before
/// each join; before a preparation only if it is not the first one and nothing is known of the record, as after a restart. A
/// finding says why the job is not started.
///
/// # Errors
/// `ReconcileError::Other` when the Cluster was deleted.
pub(super) async fn fits(
    controller: &Machines,
    observed: &Observed,
    job: JobKind,
) -> Result<Option<Finding>, ReconcileError> {
    let of_cluster = observed.cluster.as_ref();
    let is_unknown = of_cluster.is_some_and(|cluster| cluster.recorded.is_none());
    let prepare = seen(observed).and_then(|seen| seen.job(&observed.marker.job(JobKind::Prepare)));
    let was_prepared = || prepare.is_some();
    let is_prepared = || prepare.is_some_and(|job| job.state == UnitState::Succeeded);
    let is_join = match job {
        JobKind::Join => true,
        JobKind::Prepare if is_unknown && was_prepared() => false,
        _ => return Ok(None),
    };
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let cluster = controller.base.stores().clusters.get(namespace, name);
    let cluster =
        cluster.ok_or_else(|| ReconcileError::other("join", "the Cluster was deleted"))?;
    let wait = |message| Finding::no(BOOTSTRAP, Reason::WaitingForControlPlane, message);
    // a host is prepared for the first time before there is a control plane as well
    let is_made = of_cluster.is_some_and(|cluster| cluster.initialized_by.is_some());
    let needs_it = is_join || (is_made && is_prepared());
    let Some(workload) = controller.workloads.get(&cluster) else {
        return Ok(needs_it.then(unconnected));
    };
    let version = match kubeadm_config::read(workload.client(), Kept::Cluster).await {
        Ok(record) => record.and_then(|record| record::version(&record.text)),
        Err(error) => {
            return Ok(needs_it.then(|| wait(recorded::unread(observed, &error.sentence()))));
        }
    };
    let Some(version) = version else {
        // not everybody makes a control plane with kubeadm
        let is_external = of_cluster.is_some_and(|cluster| cluster.external);
        return Ok((is_join && !is_external).then(|| wait(MISSING.into())));
    };
    note(controller, &cluster, version.clone());
    let differs = recorded::differs(observed, &version);
    if differs.is_some() {
        wake_again(controller, observed);
    }
    Ok(differs.map(|message| Finding::no(BOOTSTRAP, Reason::VersionSkew, message)))
}

/// What has to be written before the Machine joins, and what of that sets back what the Cluster's spec owns.
struct Due {
    change: Change,
    differences: Vec<String>,
}

enum Change {
    Nothing,
    /// The version is right, and something that the Cluster's spec owns is not.
    Restore(Record, String),
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
    let Due {
        change,
        differences,
    } = match judge(controller, observed, cluster, members).await? {
        Ok(due) => due,
        Err(finding) => return Ok(Some(finding)),
    };
    if let Change::Restore(record, configuration) = &change {
        controller.base.engine.must_lead()?;
        let written = kubeadm_config::write(workload.client(), record, configuration).await;
        written.map_err(|error| ReconcileError::other("join a control plane", error.sentence()))?;
        owned::tell(controller, cluster, &differences).await;
        return Ok(None);
    }
    let (record, from, configuration, due) = match change {
        Change::Nothing | Change::Restore(..) => {
            // a raise that was announced and never written
            if wanted(observed).is_some_and(|wanted| is_due_beyond(cluster, &wanted)) {
                remember(controller, cluster, None).await?;
            }
            return Ok(None);
        }
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
    owned::tell(controller, cluster, &differences).await;
    if let Some(version) = wanted(observed) {
        note(controller, cluster, version);
    }
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
) -> Result<Result<Due, Finding>, ReconcileError> {
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
    if let Some(version) = record::version(&record.text) {
        note(controller, cluster, version);
    }
    let found = owned::differs(controller, observed, cluster, (&wanted, &record)).await?;
    let owned = match found {
        Ok(owned) => owned,
        Err(why) => return no(Reason::WaitingForControlPlane, why),
    };
    let (owned, differences) = owned.map_or_else(Default::default, |owned| {
        (Some(owned.configuration), owned.differences)
    });
    let text = owned.as_ref().unwrap_or(&record.text);
    let change = match step(text, &wanted) {
        RecordStep::Keep => match owned {
            Some(configuration) => Change::Restore(record, configuration),
            None => Change::Nothing,
        },
        RecordStep::Unreadable => return no(Reason::WaitingForControlPlane, MISSING.into()),
        RecordStep::Newer {
            recorded,
            configuration,
        } => {
            let runs = others(controller, observed, cluster);
            let due = cluster.annotations().get(ANNOTATION_ADDONS_DUE);
            let due = due.map(String::as_str);
            let versions = (&recorded, &wanted);
            if !may_go_back(versions, due, &runs, members.voters().count()) {
                let message = joining::recorded(observed, &recorded, &wanted);
                return no(Reason::VersionSkew, message);
            }
            Change::SetBack(record, recorded, configuration)
        }
        RecordStep::Raise {
            from,
            configuration,
        } => match version::check_control_plane_step(&from, &wanted) {
            Ok(()) => Change::Raise(record, from, configuration),
            Err(error) => return no(Reason::VersionSkew, error.to_string()),
        },
    };
    Ok(Ok(Due {
        change,
        differences,
    }))
}

/// Sets back what the Cluster's spec owns, before kubeadm renders static pods by it. A finding says why that cannot be told.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer or the record was changed meanwhile; `NotLeading` without
/// leadership.
pub(super) async fn before_update(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
) -> Result<Option<Finding>, ReconcileError> {
    let (Some(wanted), Some(workload)) = (wanted(observed), controller.workloads.get(cluster))
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
    let updating = |why| Finding::yes(ConditionType::Updating, Reason::WaitingForControlPlane, why);
    match owned::differs(controller, observed, cluster, (&wanted, &record)).await? {
        Ok(None) => Ok(None),
        Ok(Some(set_back)) => {
            controller.base.engine.must_lead()?;
            let configuration = &set_back.configuration;
            let written = kubeadm_config::write(workload.client(), &record, configuration).await;
            written.map_err(failed)?;
            owned::tell(controller, cluster, &set_back.differences).await;
            Ok(None)
        }
        Err(why) => Ok(Some(updating(why))),
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

/// Whether the addons are to follow to a version that is newer than what is recorded.
fn is_due_beyond(cluster: &Cluster, recorded: &KubernetesVersion) -> bool {
    let due = cluster.annotations().get(ANNOTATION_ADDONS_DUE);
    let due = due.and_then(|due| due.parse::<KubernetesVersion>().ok());
    due.is_some_and(|due| due > *recorded)
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

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
