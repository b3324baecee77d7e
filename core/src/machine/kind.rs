//! The kind of place that a Machine has, according to the records that were written with that
//! place. The provider spec says how the Machine is to be created, and can be edited afterwards: it
//! does not show what may still run.

use kube::ResourceExt;

use crate::api::names::{ANNOTATION_HOST, ANNOTATION_HYPERVISOR, provider_id};
use crate::api::{Machine, MachineProviderSpec};
use crate::remedy;

/// What a Machine runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// A Host.
    Host,
    /// A virtual machine on a Hypervisor.
    VirtualMachine,
    /// The manager's memory.
    Simulation,
}

impl PlaceKind {
    const ALL: [Self; 3] = [Self::Host, Self::VirtualMachine, Self::Simulation];

    /// The provider of such places.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Host => "ssh",
            Self::VirtualMachine => "libvirt",
            Self::Simulation => "simulated",
        }
    }

    /// Whether its name is written on the Machine before it is claimed, so that after a crash in
    /// between only that place is claimed.
    pub fn is_written_first(self) -> bool {
        self == Self::Host
    }

    /// Whether it is chosen again when it is acquired, because capacity may have been given to
    /// others meanwhile.
    pub fn is_chosen_late(self) -> bool {
        self == Self::VirtualMachine
    }

    /// Whether it exists in the manager's memory only.
    pub fn is_in_memory(self) -> bool {
        self == Self::Simulation
    }

    /// What a Machine with this spec is to run on.
    pub fn of_spec(spec: &MachineProviderSpec) -> Self {
        match spec {
            MachineProviderSpec::Ssh(_) => Self::Host,
            MachineProviderSpec::Libvirt(_) => Self::VirtualMachine,
            MachineProviderSpec::Simulated(_) => Self::Simulation,
        }
    }

    /// The kind according to the Machine's own provider ID, which is written with its place and
    /// does not change.
    pub fn of_id(machine: &Machine) -> Option<Self> {
        let (id, uid) = (machine.spec.provider_id.as_ref()?, machine.uid()?);
        let is_of = |kind: &Self| *id == provider_id(kind.provider(), &uid);
        Self::ALL.into_iter().find(is_of)
    }
}

/// The kind of place that a Machine has, or will have; `None` if nothing records it. `is_claimed`:
/// a Host has its claim.
///
/// # Errors
/// The records contradict each other: which, and what to do, as a message. Then nothing is done
/// with the Machine.
pub fn of(
    machine: &Machine,
    spec: Option<&MachineProviderSpec>,
    is_claimed: bool,
) -> Result<Option<PlaceKind>, String> {
    use PlaceKind::{Host, Simulation, VirtualMachine};
    let has = |annotation| machine.annotations().contains_key(annotation);
    let (is_on_host, is_on_hypervisor) = (
        is_claimed || has(ANNOTATION_HOST),
        has(ANNOTATION_HYPERVISOR),
    );
    let id = PlaceKind::of_id(machine);
    let wanted = spec.map(PlaceKind::of_spec);
    match (id, is_on_host, is_on_hypervisor) {
        (Some(Host), true, _) | (Some(Host), _, false) | (None, true, false) => Ok(Some(Host)),
        (Some(VirtualMachine), false, _) => Ok(Some(VirtualMachine)),
        (Some(Simulation), false, false) => Ok(Some(Simulation)),
        (None, false, false) => Ok(wanted),
        (None, false, true) if wanted.is_none_or(|wanted| wanted == VirtualMachine) => {
            Ok(Some(VirtualMachine))
        }
        (_, true, _) if !has(ANNOTATION_HOST) => Err(claimed(machine)),
        (_, true, _) => Err(annotated(machine, ANNOTATION_HOST)),
        (_, false, _) => Err(annotated(machine, ANNOTATION_HYPERVISOR)),
    }
}

fn annotated(machine: &Machine, annotation: &str) -> String {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    format!(
        "annotation {annotation} contradicts {}, for example because it was copied from the YAML of another Machine; nothing is done. If the annotation is wrong: {}{}",
        against(machine),
        remedy::machine::remove_place(&namespace, &name, annotation),
        otherwise(machine, of_annotation(annotation))
    )
}

fn of_annotation(annotation: &str) -> PlaceKind {
    if annotation == ANNOTATION_HYPERVISOR {
        PlaceKind::VirtualMachine
    } else {
        PlaceKind::Host
    }
}

fn claimed(machine: &Machine) -> String {
    let namespace = machine.namespace().unwrap_or_default();
    format!(
        "spec.consumerRef of a Host names this Machine, which contradicts {}; nothing is done. Find the Host: {}. If its claim is wrong, delete that Host; its server is not changed{}",
        against(machine),
        remedy::host::all_claims(&namespace),
        otherwise(machine, PlaceKind::Host)
    )
}

fn against(machine: &Machine) -> String {
    match (&machine.spec.provider_id, PlaceKind::of_id(machine)) {
        (Some(id), Some(_)) => format!("spec.providerID {id}"),
        _ => "spec.providerSpec and the other records of its place".into(),
    }
}

/// Where the other record is right.
fn otherwise(machine: &Machine, kind: PlaceKind) -> String {
    if PlaceKind::of_id(machine).is_none() {
        return String::new();
    }
    let id = provider_id(kind.provider(), &machine.uid().unwrap_or_default());
    format!(
        "; if spec.providerID was edited, set that back: {}",
        remedy::machine::set_provider_id(
            &machine.namespace().unwrap_or_default(),
            &machine.name_any(),
            &id
        )
    )
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
