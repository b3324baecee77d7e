//! How the versions that run become those of the spec, and how a provider spec that cannot be used
//! is corrected: on the Machine itself only before it has a place, because `spec.providerSpec` is
//! final once `spec.providerID` is set (admission policy `tatara-machine-identity`).

use kube::ResourceExt;

use crate::api::Machine;
use crate::api::names::LABEL_MACHINE_DEPLOYMENT;
use crate::remedy;

/// The remedy for versions that have to become these: of the template, where the Machine is made
/// from one, which a set writes.
pub fn versions(machine: &Machine, kubelet: &str, control_plane: Option<&str>) -> String {
    if machine.is_owned() {
        let deployment = machine.labels().get(LABEL_MACHINE_DEPLOYMENT);
        let owner = deployment.map_or_else(
            || "its MachineSet".to_owned(),
            |name| format!("MachineDeployment {name}"),
        );
        let control_plane = control_plane.map(|version| format!(" and controlPlane {version}"));
        return format!(
            "Set spec.template.spec.versions of {owner} to kubelet {kubelet}{}",
            control_plane.unwrap_or_default()
        );
    }
    format!(
        "Set its spec.versions: {}",
        remedy::machine::set_versions(
            &machine.namespace().unwrap_or_default(),
            &machine.name_any(),
            kubelet,
            control_plane
        )
    )
}

/// The remedy, as the end of a message.
pub fn remedy(machine: &Machine) -> String {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let delete = remedy::machine::delete(&namespace, &name);
    let owner = machine.owner_references().iter();
    let mut owner = owner.filter(|owner| owner.controller == Some(true));
    if let Some(owner) = owner.next() {
        return format!(
            "correct the template of {} {}, or of the MachineDeployment that owns it, then: {delete}",
            owner.kind, owner.name
        );
    }
    if machine.spec.provider_id.is_none() {
        let edit = remedy::machine::edit(&namespace, &name);
        return format!("correct spec.providerSpec: {edit}");
    }
    format!(
        "spec.providerSpec cannot change once the Machine has a host or Hypervisor: correct the manifest, {delete}, and apply it again"
    )
}
