//! The kubeadm of a join is of the minor version that kubeadm has recorded for the cluster
//! (ConfigMap `kubeadm-config`): a host that is prepared with another is prepared again, and
//! workers wait while control planes move to what is recorded.

use super::super::cluster::ObservedCluster;
use super::super::observed::Observed;
use super::super::units;
use super::job;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::kubeadm::KubernetesVersion;
use crate::node::{JobKind, Observation, Owner, PlannedUnit, Wanted};
use crate::remedy;

/// What was set back in kubeadm's record, as it is told on the Cluster.
pub fn set_back(differences: &[String]) -> Finding {
    let message = format!(
        "somebody edited ConfigMap kube-system/kubeadm-config of the cluster, and what the Cluster's spec owns there was set back before it was used: {}. To change it, edit the Cluster; networks, domain and endpoint are fixed for its life",
        differences.join("; ")
    );
    Finding::no(
        ConditionType::SettingsApplied,
        Reason::SettingsSetBack,
        message,
    )
}

/// Whether the host is prepared as this unit does it, and has a kubeadm of the minor version that
/// is needed.
pub(super) fn is_prepared(
    observed: &Observed,
    seen: &Observation,
    owner: &Owner,
    prepare: &PlannedUnit,
) -> bool {
    let is_begun = |kind| job::runs_or_ran(observed, seen, kind);
    // what kubeadm has made, or is making, is not prepared again
    let is_node = owner.initialized
        || owner.joined
        || [JobKind::Init, JobKind::Join].into_iter().any(is_begun);
    let is_done = |wanted: Wanted<'_>| wanted.is_done(seen.job(&wanted.job));
    if is_node {
        return is_done(job::of_kind(observed, prepare.kind));
    }
    is_done(job::of_unit(observed, prepare)) && other_kubeadm(observed, seen).is_none()
}

/// Why a host that was prepared is prepared again.
pub(super) fn again(observed: &Observed, seen: &Observation) -> String {
    let cluster = &observed.marker.cluster;
    let recorded = observed.cluster.as_ref();
    let recorded = recorded.and_then(|cluster| cluster.recorded.as_ref());
    match (other_kubeadm(observed, seen), recorded) {
        (Some((installed, wanted)), Some(recorded)) if wanted == *recorded => format!(
            "the host has kubeadm {installed}, and kubeadm has recorded {recorded} for Cluster {cluster} (its ConfigMap kube-system/kubeadm-config); preparing the host again with kubeadm v1.{}, with which it joins",
            recorded.minor()
        ),
        (Some((installed, wanted)), _) => format!(
            "the host has kubeadm {installed}, and joins Cluster {cluster} with kubeadm v1.{}; preparing the host again",
            wanted.minor()
        ),
        (None, _) => "the settings of the preparation changed; preparing the host again".into(),
    }
}

/// The kubeadm on the host, and the one that is needed, where these are of different minor
/// versions.
fn other_kubeadm(
    observed: &Observed,
    seen: &Observation,
) -> Option<(KubernetesVersion, KubernetesVersion)> {
    let installed: KubernetesVersion = seen.versions.kubeadm.as_ref()?.parse().ok()?;
    let wanted = units::kubeadm(observed).ok()?;
    (installed.minor() != wanted.minor()).then_some((installed, wanted))
}

/// Why a worker waits: the control plane moves to what is recorded, and a machine of it is not
/// there yet.
pub(super) fn moving(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let recorded = cluster.recorded.as_ref()?;
    let (machine, runs) = cluster.peers.versions.behind_record.as_ref()?;
    let name = &cluster.name;
    let look = remedy::describe_machine(&observed.marker.namespace, machine);
    Some(format!(
        "prepared; waiting to join until the control plane of Cluster {name} has moved to v1.{}, of which kubeadm has recorded {recorded}: control-plane Machine {machine} reported {runs} last. Its MachineDeployment updates or replaces it; if it has none, set its spec.versions to {recorded}; if its host is dead, delete it. Why it does not proceed: {look}",
        recorded.minor()
    ))
}

/// Why a worker does not join with the kubeadm that its host is prepared with, by what is recorded
/// now.
pub fn differs(observed: &Observed, recorded: &KubernetesVersion) -> Option<String> {
    let prepared = units::kubeadm(observed).ok()?;
    let minor = recorded.minor();
    (prepared.minor() != minor).then(|| {
        format!(
            "kubeadm has recorded {recorded} for Cluster {} (its ConfigMap kube-system/kubeadm-config), so the Machine joins with kubeadm v1.{minor}, not with v1.{}; its host is prepared again with that first",
            observed.marker.cluster,
            prepared.minor()
        )
    })
}

/// Why a worker does not join while the record cannot be read.
pub fn unread(observed: &Observed, error: &str) -> String {
    let marker = &observed.marker;
    let cluster = &marker.cluster;
    let look = remedy::describe_cluster(&marker.namespace, cluster);
    format!(
        "{error}. kubeadm join depends on it, so this Machine waits; it is read again every 30 s. If the API refuses: allow the account of Secret {cluster}-kubeconfig to get ConfigMap kube-system/kubeadm-config. If it does not answer: {look}"
    )
}
