//! The versions that run on a machine, and those that are wanted.

use super::super::super::observed::Observed;
use super::super::membership;
use crate::kubeadm::KubernetesVersion;

/// A version that runs, and the one that is wanted.
pub(super) type Versions = (KubernetesVersion, KubernetesVersion);

pub(super) fn kubelet(observed: &Observed) -> Option<Versions> {
    let runs = observed.known_node()?.kubelet_version.parse().ok()?;
    Some((runs, observed.machine.versions()?.kubelet.parse().ok()?))
}

/// Of the control plane on its own server, as that last said.
pub(super) fn control_plane(observed: &Observed) -> Option<Versions> {
    if !membership::is_asked(observed) {
        return None;
    }
    let wanted = observed.machine.versions()?.control_plane.as_deref()?;
    let components = observed.cluster.as_ref()?.components.as_ref();
    let said = components.and_then(|components| components.version.as_deref());
    let status = observed.machine.status.as_ref();
    let told = status.and_then(|status| status.versions.as_ref()?.control_plane.as_deref());
    Some((said.or(told)?.parse().ok()?, wanted.parse().ok()?))
}

pub(super) fn is_other((runs, wanted): &Versions) -> bool {
    runs != wanted
}

/// Whether another version runs than is wanted; `None` while the Node cannot be read.
pub(super) fn runs_other(observed: &Observed) -> Option<bool> {
    let kubelet = kubelet(observed)?;
    Some(is_other(&kubelet) || is_other_control_plane(observed))
}

/// The version of the control plane on its own server, as that last said.
pub(in super::super) fn runs_of_control_plane(observed: &Observed) -> Option<KubernetesVersion> {
    control_plane(observed).map(|(runs, _)| runs)
}

/// Whether that is not the one that is wanted.
pub(in super::super) fn is_other_control_plane(observed: &Observed) -> bool {
    control_plane(observed).as_ref().is_some_and(is_other)
}

/// Each version that runs and is not the one that is wanted.
pub(in super::super) fn differences(observed: &Observed) -> Vec<String> {
    let parts = [
        ("control plane", control_plane(observed)),
        ("kubelet", kubelet(observed)),
    ];
    let parts = parts.into_iter().filter_map(|(what, versions)| {
        let versions = versions.filter(is_other)?;
        Some(format!("{what} {}, wanted {}", versions.0, versions.1))
    });
    parts.collect()
}
