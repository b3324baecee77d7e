//! What the spec of a Cluster owns in kubeadm's record is compared before the record is used; what
//! was set back is told on the Cluster.

use super::Machines;
use crate::engine::{ReconcileError, patch};
use crate::workload::kubeadm_config::Record;
use tatara_core::api::{Cluster, ClusterProviderSpec};
use tatara_core::kubeadm::{ClusterInput, Compared, Kept, KubernetesVersion, Owned, owned};
use tatara_core::machine::live::record::compared;
use tatara_core::machine::plan::recorded::set_back;
use tatara_core::machine::{Observed, ObservedCluster};
use tatara_core::settings;

/// The record with what the Cluster's spec owns as it is there, if it is not. An inner error says
/// why that cannot be told.
///
/// # Errors
/// `ReconcileError::Api` or `Conflict` if the Cluster cannot be read.
pub(super) async fn differs(
    controller: &Machines,
    observed: &Observed,
    cluster: &Cluster,
    (version, record): (&KubernetesVersion, &Record),
) -> Result<Result<Option<Owned>, String>, ReconcileError> {
    let Some(of_cluster) = &observed.cluster else {
        return Ok(Ok(None));
    };
    let Some(input) = input(of_cluster, version) else {
        return Ok(Ok(None));
    };
    let recorded = settings::part(&of_cluster.settings.recorded, Kept::Cluster);
    let found = owned(&input, &recorded, Compared::WithSettings, &record.text);
    let owned = match found {
        Ok(Some(_)) => {
            let live = patch::live(&controller.base.engine, cluster).await?;
            let (recorded, compared) = compared(&live);
            owned(&input, &recorded, compared, &record.text)
        }
        other => other,
    };
    Ok(owned.map_err(|error| error.sentence(Kept::Cluster, &of_cluster.name)))
}

fn input(cluster: &ObservedCluster, version: &KubernetesVersion) -> Option<ClusterInput> {
    // without an endpoint of its own it has that of a host, which may have another address by now
    let named = |spec: &ClusterProviderSpec| spec.control_plane_endpoint.is_some();
    let is_named = cluster.spec.as_ref().is_ok_and(named);
    let endpoint = cluster.endpoint.clone().filter(|_| is_named)?;
    let (name, network) = (&cluster.name, &cluster.network);
    Some(ClusterInput::of(name, network, version.clone(), endpoint))
}

/// Tells on the Cluster what was set back, once that is written.
pub(super) async fn tell(controller: &Machines, cluster: &Cluster, differences: &[String]) {
    if differences.is_empty() {
        return;
    }
    let finding = set_back(differences);
    tracing::warn!(
        cluster = cluster.metadata.name,
        differences = finding.message(),
        "set back what the spec of the Cluster owns in kubeadm's record"
    );
    controller
        .base
        .engine
        .events
        .publish(cluster, &finding)
        .await;
}
