//! How a provider spec that cannot be used is corrected: on the Machine itself only before it has a place, because
//! `spec.providerSpec` is final once `spec.providerID` is set (admission policy `tatara-machine-identity`).

use kube::ResourceExt;

use crate::api::Machine;

/// The remedy, as the end of a message.
pub fn remedy(machine: &Machine) -> String {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let owner = machine.owner_references().iter();
    let mut owner = owner.filter(|owner| owner.controller == Some(true));
    if let Some(owner) = owner.next() {
        return format!(
            "correct the template of {} {}, or of the MachineDeployment that owns it, then: kubectl -n {namespace} delete machine {name}",
            owner.kind, owner.name
        );
    }
    if machine.spec.provider_id.is_none() {
        return format!("correct spec.providerSpec: kubectl -n {namespace} edit machine {name}");
    }
    format!(
        "spec.providerSpec cannot change once the Machine has a host or Hypervisor: correct the manifest, kubectl -n {namespace} delete machine {name}, and apply it again"
    )
}
