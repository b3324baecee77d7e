//! Gathers the facts for a pass over a MachineSet, from the stores.

use crate::api::conditions::Reason;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::MachineSets;
use crate::api::names::{ANNOTATION_INITIALIZED, LABEL_CLUSTER};
use crate::api::{Cluster, ClusterProviderSpec, Machine, MachineSet};
use crate::controllers::whose::ProviderObject;
use crate::controllers::{machine_class, paused};
use crate::core::Key;
use crate::core::kubeadm::{KubernetesVersion, version};
use crate::core::machine_deployment::has_control_plane;
use crate::core::machine_set::{Gate, Observed, Owner, Seed};
use crate::engine::ReconcileError;
use crate::store::Stores;

/// Gathers the facts for a pass over a MachineSet.
///
/// # Errors
/// Those of [`around`].
pub fn observe(
    controller: &MachineSets,
    set: &MachineSet,
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    around(controller, set, &listed(controller, set), now)
}

/// The Machines of a set: those that the watch shows, and those in flight. What is in flight and shown is settled.
pub fn listed(controller: &MachineSets, set: &MachineSet) -> Vec<Arc<Machine>> {
    let namespace = set.namespace().unwrap_or_default();
    let uid = set.uid().unwrap_or_default();
    let stored = &controller.base.stores().machines;
    let mut seen = controller.in_flight().made(&uid);
    seen.retain(|name| stored.get(&namespace, name).is_some());
    let mut machines = stored.by(&Key::Owner(uid.clone()));
    machines.extend(stored.by(&Key::Orphan(namespace.clone())));
    let shows = |name: &str| seen.iter().any(|seen| seen == name);
    controller.in_flight().settle(&uid, machines, shows)
}

/// Like [`observe`], with these Machines.
///
/// # Errors
/// `ReconcileError::Other` when the operating system provides no random bytes.
pub fn around(
    controller: &MachineSets,
    set: &MachineSet,
    machines: &[Arc<Machine>],
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    let (stores, namespace) = (
        controller.base.stores(),
        set.namespace().unwrap_or_default(),
    );
    let resolved = machine_class::usable(stores, &namespace, &set.spec.template.spec);
    let resolved = resolved.map_err(|problem| Gate {
        reason: problem.reason,
        message: problem.message,
    });
    let all = machines.iter().map(AsRef::as_ref);
    let mut observed = Observed::from_api(set, resolved, gate(stores, set, &namespace), all);
    for (machine, observed) in machines.iter().zip(&mut observed.machines) {
        if !machine.is_ours(stores) {
            observed.owner = Owner::Other;
        }
    }
    observed.paused_by = paused::paused_by(stores, set);
    observed.due = controller.in_flight().due(&observed.uid, now);
    observed.seed = seed()?;
    Ok(observed)
}

/// Random bytes of the operating system.
fn seed() -> Result<Seed, ReconcileError> {
    let random = rustls::crypto::ring::default_provider().secure_random;
    let mut seed = Seed::default();
    let filled = random.fill(&mut seed);
    filled.map_err(|_| ReconcileError::other("name Machines", "no random numbers"))?;
    Ok(seed)
}

/// Blocks creation on version skew: a kubelet newer than the API server is not supported, nor a control plane older than
/// another.
fn gate(stores: &Stores, set: &MachineSet, namespace: &str) -> Option<Gate> {
    let name = set.labels().get(LABEL_CLUSTER)?;
    let cluster = stores.clusters.get(namespace, name)?;
    let versions = set.spec.template.spec.versions.as_ref()?;
    if has_control_plane(&set.spec.template) && lacks_endpoint(&cluster) {
        let message = format!(
            "Cluster {name} has no spec.providerSpec.value.controlPlaneEndpoint: its API has the address of its only control-plane machine, so no other one joins. Set the template back; to change versions, set spec.strategy to {{type: InPlace}}"
        );
        return Some(Gate {
            reason: Reason::EndpointMissing,
            message,
        });
    }
    let lowest: KubernetesVersion = cluster.status.as_ref()?.version.as_ref()?.parse().ok()?;
    let error = if has_control_plane(&set.spec.template) {
        let wanted = versions.control_plane.as_ref()?.parse().ok()?;
        let key = Key::ControlPlane(namespace.to_owned(), name.clone());
        let machines = stores.machines.by(&key);
        let runs = machines.iter().filter_map(|machine| {
            let status = machine.status.as_ref()?;
            let runs = status.versions.as_ref()?.control_plane.as_ref()?;
            runs.parse::<KubernetesVersion>().ok()
        });
        let highest = runs.max().unwrap_or_else(|| lowest.clone());
        let step = version::check_control_plane_step(&highest, &wanted);
        step.and_then(|()| version::check_control_plane_step(&lowest, &wanted))
            .err()?
    } else {
        let wanted: KubernetesVersion = versions.kubelet.parse().ok()?;
        version::check_kubelet(&wanted, &lowest).err()?
    };
    Some(Gate {
        reason: Reason::VersionSkew,
        message: error.to_string(),
    })
}

/// Whether a control plane exists that no other one can join.
fn lacks_endpoint(cluster: &Cluster) -> bool {
    let spec = ClusterProviderSpec::decode(cluster.spec.provider_spec.value.as_ref());
    let is_made = cluster.annotations().contains_key(ANNOTATION_INITIALIZED);
    is_made && spec.is_ok_and(|spec| spec.control_plane_endpoint.is_none())
}
