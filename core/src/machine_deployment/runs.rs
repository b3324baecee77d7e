//! What the versions of a template may not be, beside those that run.

use crate::api::{Cluster, Machine, MachineTemplate};
use crate::kubeadm::{KubernetesVersion, VersionError, version};

/// The version of the oldest control plane of a Cluster.
pub fn lowest(cluster: &Cluster) -> Option<KubernetesVersion> {
    cluster.status.as_ref()?.version.as_ref()?.parse().ok()
}

/// The newest version of the control planes among these Machines.
pub fn highest<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Option<KubernetesVersion> {
    let runs = machines.into_iter().filter_map(|machine| {
        let status = machine.status.as_ref()?;
        let runs = status.versions.as_ref()?.control_plane.as_ref()?;
        runs.parse::<KubernetesVersion>().ok()
    });
    runs.max()
}

/// Why the control plane of a template cannot be run beside these Machines of its Cluster, now or
/// ever.
pub fn forbidden<'a>(
    template: &MachineTemplate,
    cluster: &Cluster,
    machines: impl IntoIterator<Item = &'a Machine>,
) -> Option<VersionError> {
    let wanted = template.spec.versions.as_ref()?.control_plane.as_ref()?;
    let wanted = wanted.parse().ok()?;
    let lowest = lowest(cluster)?;
    let highest = highest(machines).unwrap_or_else(|| lowest.clone());
    let step = version::check_control_plane_step(&highest, &wanted);
    step.and_then(|()| version::check_control_plane_step(&lowest, &wanted))
        .err()
}
