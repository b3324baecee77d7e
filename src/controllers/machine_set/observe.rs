//! Gathers what a pass over a MachineSet needs, from the stores.

use std::sync::Arc;

use kube::ResourceExt;

use super::observed::{Gate, Observed};
use crate::api::machine_provider_spec::ProviderSpecError;
use crate::api::names::LABEL_CLUSTER;
use crate::api::{Machine, MachineProviderSpec, MachineSet};
use crate::controllers::{machine_class, paused};
use crate::kubeadm::{KubernetesVersion, version};
use crate::manager::Context;

/// What a pass over a MachineSet knows.
pub struct Seen {
    /// The set and its Machines.
    pub set: Observed,
    /// Its machines are another provider's: hands off.
    pub foreign: bool,
}

/// Gathers what a pass over a MachineSet needs.
pub fn observe(context: &Context, set: &MachineSet) -> Seen {
    let namespace = set.namespace().unwrap_or_default();
    let machines = context.stores.machines.within(&namespace);
    around(context, set, &machines)
}

/// The same, over these Machines.
pub fn around(context: &Context, set: &MachineSet, machines: &[Arc<Machine>]) -> Seen {
    let namespace = set.namespace().unwrap_or_default();
    let spec = &set.spec.template.spec.provider_spec;
    let resolved = machine_class::resolve(&context.stores, &namespace, spec);
    let foreign = resolved.as_ref().is_ok_and(|value| {
        matches!(
            MachineProviderSpec::decode(value),
            Err(ProviderSpecError::Foreign { .. })
        )
    });
    let resolved = resolved.map_err(|problem| Gate {
        reason: problem.reason,
        message: problem.message,
    });
    let machines = machines.iter().map(AsRef::as_ref);
    let mut observed = Observed::from_api(set, resolved, gate(context, set, &namespace), machines);
    observed.paused_by = paused::paused_by(&context.stores, set);
    Seen {
        set: observed,
        foreign,
    }
}

/// Creation is held back by version skew only: a worker ahead of the control plane would not work.
fn gate(context: &Context, set: &MachineSet, namespace: &str) -> Option<Gate> {
    let cluster = context
        .stores
        .clusters
        .get(namespace, set.labels().get(LABEL_CLUSTER)?)?;
    let versions = set.spec.template.spec.versions.as_ref()?;
    if versions
        .control_plane
        .as_ref()
        .is_some_and(|version| !version.is_empty())
    {
        return None;
    }
    let running: KubernetesVersion = cluster.status.as_ref()?.version.as_ref()?.parse().ok()?;
    let wanted: KubernetesVersion = versions.kubelet.parse().ok()?;
    let error = version::check_kubelet(&wanted, &running).err()?;
    Some(Gate {
        reason: "VersionSkew",
        message: error.to_string(),
    })
}
