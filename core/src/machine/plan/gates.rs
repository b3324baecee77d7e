//! Feature gates, and arguments of etcd, in the settings of the Cluster that the versions of a
//! Machine no longer know.

use super::super::observed::Observed;
use super::{Plan, job};
use crate::Why;
use crate::api::conditions::{ConditionType, Reason};
use crate::kubeadm::KubernetesVersion;
use crate::kubeadm::feature_gates::{UnknownGate, of_component, of_control_plane};
use crate::node::{JobKind, Observation};
use crate::settings::{self, CLUSTER, KUBE_PROXY, KUBELET, Settings};

/// A Machine for which kubeadm has not run, nor runs, waits before its host is prepared.
pub(super) fn before_kubeadm(observed: &Observed, seen: &Observation) -> Option<Plan> {
    let has_run = |kind| job::runs_or_ran(observed, seen, kind);
    if observed.had_node() || has_run(JobKind::Init) || has_run(JobKind::Join) {
        return None;
    }
    let why = refused(observed)?;
    Some(Plan::waiting(why.finding(ConditionType::BootstrapReady)))
}

/// Why what the Machine shall run would not start: the Cluster sets a gate that it does not know,
/// or kubeadm's ConfigMaps have it still.
pub(super) fn refused(observed: &Observed) -> Option<Why> {
    // the settings of others are not applied, and a simulated machine has no kubelet
    let cluster = observed.cluster.as_ref().filter(|one| !one.external)?;
    observed.spec.as_ref().ok()?.node()?;
    let spec = cluster.spec.as_ref().ok()?;
    let versions = observed.machine.versions()?;
    let kubelet: KubernetesVersion = versions.kubelet.parse().ok()?;
    let control_plane = versions.control_plane.as_deref();
    let control_plane = control_plane.and_then(|version| version.parse().ok());
    let versions = (control_plane.as_ref(), &kubelet);
    if let Some((field, of, found)) = unknown(&settings::of_cluster(spec), versions) {
        let remedy = found.remedy(field, &cluster.name);
        let cause = format!("{}.", found.sentence(of));
        return Some(Why::new(Reason::InvalidConfiguration, cause).remedied(remedy));
    }
    let (field, of, found) = unknown(&cluster.settings.recorded, versions)?;
    let message = format!(
        "{}; waiting until {field} in kubeadm's ConfigMaps is without it. Condition SettingsApplied of Cluster {} says what that waits for",
        found.sentence(of),
        cluster.name
    );
    Some(Why::new(Reason::VersionSkew, message))
}

/// The first gate that is not known, its configuration, and to what version.
fn unknown<'a>(
    settings: &Settings,
    (control_plane, kubelet): (Option<&'a KubernetesVersion>, &'a KubernetesVersion),
) -> Option<(&'static str, &'a KubernetesVersion, UnknownGate)> {
    let part = |field| settings.get(field)?.as_object();
    let of_plane = || {
        let version = control_plane?;
        let cluster = part(CLUSTER).and_then(|part| of_control_plane(part, version));
        let proxy = || part(KUBE_PROXY).and_then(|part| of_component(part, version));
        let found = cluster.map(|found| (CLUSTER, version, found));
        found.or_else(|| proxy().map(|found| (KUBE_PROXY, version, found)))
    };
    let of_kubelet = || {
        let found = of_component(part(KUBELET)?, kubelet)?;
        Some((KUBELET, kubelet, found))
    };
    of_plane().or_else(of_kubelet)
}
