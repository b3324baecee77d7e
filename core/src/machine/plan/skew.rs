//! With which versions a machine joins: none that is older than the control plane, and none beside
//! one that is being updated.

use super::super::cluster::ObservedCluster;
use super::super::observed::Observed;
use super::correct;
use crate::kubeadm::{KubernetesVersion, version};
use crate::remedy;

/// Why a worker does not join, by the version of its kubelet.
pub(super) fn of_worker(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let kubelet = observed.machine.versions()?.kubelet.parse().ok()?;
    let control_plane = cluster.version.as_ref()?.parse().ok()?;
    let skew = version::check_kubelet(&kubelet, &control_plane).err()?;
    Some(skew.to_string())
}

/// While control planes are updated, kubeadm's record in the cluster may be newer than what runs,
/// and no kubeadm fits both.
pub(super) fn updating(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let machine = cluster.peers.versions.updating.as_ref()?;
    let look = remedy::describe_machine(&observed.marker.namespace, machine);
    Some(format!(
        "prepared; waiting to join until control-plane Machine {machine} is updated. If that does not proceed: {look}"
    ))
}

/// A control plane joins at the version that runs, or one step ahead of it.
pub(super) fn of_control_plane(observed: &Observed, cluster: &ObservedCluster) -> Option<String> {
    let versions = observed.machine.versions()?;
    let parse = |text: &str| text.parse::<KubernetesVersion>().ok();
    let wanted = parse(versions.control_plane.as_deref()?)?;
    let kubelet = parse(&versions.kubelet)?;
    let lowest = parse(cluster.version.as_deref()?)?;
    let peers = &cluster.peers.versions;
    let highest = peers.newest_control_plane.clone();
    let highest = highest.unwrap_or_else(|| lowest.clone());
    if wanted < highest {
        return Some(behind(observed, &highest, &wanted));
    }
    let is_ahead = wanted.minor() > lowest.minor();
    let oldest = peers.oldest_kubelet.as_ref().filter(|_| is_ahead);
    let oldest = oldest.map(|(name, version)| (name.as_str(), version));
    let problem = version::check_control_plane_step(&lowest, &wanted)
        .and_then(|()| version::check_kubelet(&kubelet, &wanted))
        .and_then(|()| version::check_kubelets_follow(&wanted, oldest))
        .err();
    if let Some(problem) = problem {
        return Some(problem.to_string());
    }
    (is_ahead && !is_local(cluster, &wanted)).then(|| {
        format!(
            "spec.versions.controlPlane is {wanted} and the control plane of Cluster {} runs {lowest}; before v1.{LOCAL_MODE} a kubelet that joins may reach the older API server. Set kubeadm.clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode: true of the Cluster before its init, or update its Machines in place",
            cluster.name
        )
    })
}

/// The minor version from which a kubelet of a control plane reaches the API server beside it
/// (kubeadm's feature gate `ControlPlaneKubeletLocalMode`).
const LOCAL_MODE: u64 = 33;

fn is_local(cluster: &ObservedCluster, wanted: &KubernetesVersion) -> bool {
    let spec = cluster.spec.as_ref().ok();
    let gates = spec.and_then(|spec| spec.kubeadm.cluster_configuration.get("featureGates"));
    let gate = gates.and_then(|gates| gates.get("ControlPlaneKubeletLocalMode")?.as_bool());
    wanted.minor() >= LOCAL_MODE || gate == Some(true)
}

/// A Machine is of an older version than the control plane.
fn behind(observed: &Observed, runs: &KubernetesVersion, wanted: &KubernetesVersion) -> String {
    format!(
        "spec.versions.controlPlane is {wanted}, but a control plane of Cluster {} runs {runs}, and none that is older joins: a control plane does not go back. {}",
        observed.marker.cluster,
        remedy(observed, runs)
    )
}

/// kubeadm has recorded a newer version for the cluster, by which the static pods of this Machine
/// would be rendered.
pub fn recorded(
    observed: &Observed,
    recorded: &KubernetesVersion,
    wanted: &KubernetesVersion,
) -> String {
    format!(
        "spec.versions.controlPlane is {wanted}, but kubeadm has recorded {recorded} for Cluster {} (its ConfigMap kube-system/kubeadm-config), and renders the static pods of a join at that version. {}",
        observed.marker.cluster,
        remedy(observed, recorded)
    )
}

fn remedy(observed: &Observed, runs: &KubernetesVersion) -> String {
    let runs = runs.to_string();
    correct::versions(&observed.machine, &runs, Some(&runs))
}
