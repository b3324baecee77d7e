//! Why a version cannot be run now, or ever: by the rules of Kubernetes
//! (<https://kubernetes.io/releases/version-skew-policy/>), or because of a setting that it does
//! not know.

use super::super::super::cluster::ObservedCluster;
use super::super::super::observed::Observed;
use super::super::gates;
use super::versions::{control_plane, kubelet};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::kubeadm::{KubernetesVersion, VersionError, version};
use crate::remedy;
use crate::{NodeView, Why};

/// What forbids the versions that a Machine wants, in condition `UpToDate`.
pub(super) fn obstacle(observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    let found = match control_plane(observed) {
        Some((runs, wanted)) => of_control_plane(cluster, &runs, &wanted),
        None => of_worker(observed, cluster),
    };
    // what has begun fails by it, and says so: an edit of the settings waits for what goes on
    let begins = !super::is_begun(observed);
    let found = found.or_else(|| begins.then(|| gates::refused(observed))?);
    found.map(|why| why.finding(ConditionType::UpToDate))
}

fn of_control_plane(
    cluster: &ObservedCluster,
    runs: &KubernetesVersion,
    wanted: &KubernetesVersion,
) -> Option<Why> {
    let lowest = cluster.version.as_ref().and_then(|text| text.parse().ok());
    let lowest = lowest.unwrap_or_else(|| runs.clone());
    let kubelets = cluster.peers.versions.oldest_kubelet.iter();
    let kubelets = kubelets.filter(|_| runs != wanted);
    let kubelets = kubelets.map(|(name, version)| (name.as_str(), version));
    let own = version::check_control_plane_step(runs, wanted)
        .and_then(|()| version::check_kubelets_follow(wanted, kubelets));
    if let Err(error) = own {
        return Some(refused(&error));
    }
    // none goes ahead of another that is two steps behind
    let lowest = lowest.min(wanted.clone());
    version::check_control_plane_step(&lowest, wanted).is_err().then(|| {
        let message = format!(
            "spec.versions.controlPlane is {wanted}; waiting until every control-plane Machine of Cluster {} runs v1.{} or newer: the oldest runs {lowest}",
            cluster.name,
            wanted.minor().saturating_sub(1),
        );
        Why::new(Reason::VersionSkew, message)
    })
}

fn of_worker(observed: &Observed, cluster: &ObservedCluster) -> Option<Why> {
    let (_, wanted) = kubelet(observed)?;
    let runs: KubernetesVersion = cluster.version.as_ref()?.parse().ok()?;
    if let Err(error) = version::check_kubelet(&wanted, &runs) {
        return Some(refused(&error));
    }
    // one that is drained goes on, to what every control plane runs: they may need its Node
    let goes_on = wanted <= runs
        && observed
            .known_node()
            .is_some_and(NodeView::is_cordoned_by_us);
    let machine = cluster.peers.versions.updating.as_ref();
    let machine = machine.filter(|_| !goes_on)?;
    let look = remedy::describe_machine(&observed.marker.namespace, machine);
    let message = format!(
        "spec.versions.kubelet is {wanted}; waiting until control-plane Machine {machine} is updated: the control plane goes first. If that does not proceed: {look}"
    );
    Some(Why::new(Reason::VersionSkew, message))
}

fn refused(error: &VersionError) -> Why {
    let reason = match error {
        VersionError::KubeletAhead { .. } | VersionError::KubeletLeftBehind { .. } => {
            Reason::VersionSkew
        }
        _ => Reason::UnsupportedVersion,
    };
    Why::new(reason, error.to_string())
}
