//! What is done at the Hypervisor of a Machine, by what its objects are now, and by what the
//! gateway answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::super::observed::{Observed, VirtualMachine};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::given_up::{self, AbandonError, AbandonedMachines};
use crate::api::machine::MachineSpec;
use crate::api::names::ANNOTATION_HYPERVISOR;
use crate::api::{Hypervisor, LibvirtMachineProviderSpec, Machine, MachineProviderSpec};
use crate::machine::plan::{correct, host_is_gone, time_limit};
use crate::wire::Machine as ShownMachine;

/// The condition of the virtual machine itself.
const INFRASTRUCTURE: ConditionType = ConditionType::InfrastructureReady;

/// Every field of a Machine that the choice of its Hypervisor depends on.
pub fn basis(machine: &Machine) -> (Option<String>, MachineSpec, Option<Time>) {
    let place = machine.annotations().get(ANNOTATION_HYPERVISOR).cloned();
    let deleted = machine.metadata.deletion_timestamp.clone();
    (place, machine.spec.clone(), deleted)
}

/// Whether the virtual machine of a Machine, read live, is still to be created on this Hypervisor.
pub fn may_create(live: &Machine, hypervisor: &str) -> bool {
    let place = live.annotations().get(ANNOTATION_HYPERVISOR);
    live.metadata.deletion_timestamp.is_none() && place.map(String::as_str) == Some(hypervisor)
}

/// Whether a Machine that leaves its Hypervisor has no virtual machine there. What is left of
/// earlier attempts is deleted then.
pub fn may_leave(shown: Option<&ShownMachine>) -> bool {
    shown.is_none()
}

/// The virtual machine of which the gateway is asked something. One that sends malformed answers
/// executes requests still.
///
/// # Errors
/// No Hypervisor is chosen, or its gateway cannot be asked.
pub fn asked(observed: &Observed) -> Result<&VirtualMachine, Finding> {
    let machine = observed.virtual_machine.as_ref().ok_or_else(unplaced)?;
    match &machine.told {
        Err(refusal) if refusal.reason != Reason::UnreadableAnswer => {
            Err(refusal.finding(INFRASTRUCTURE))
        }
        _ => Ok(machine),
    }
}

/// No Hypervisor is chosen, or it has no gateway.
pub fn unplaced() -> Finding {
    let message = "no Hypervisor is chosen";
    Finding::no(INFRASTRUCTURE, Reason::HypervisorUnreachable, message)
}

/// The provider spec of a Machine that is to be a virtual machine.
///
/// # Errors
/// It is not to be one.
pub fn spec(observed: &Observed) -> Result<&LibvirtMachineProviderSpec, Finding> {
    match &observed.spec {
        Ok(MachineProviderSpec::Libvirt(spec)) => Ok(spec),
        _ => Err(Finding::no(
            INFRASTRUCTURE,
            Reason::InvalidConfiguration,
            "the Machine is not to be a virtual machine",
        )),
    }
}

/// Why a request about the virtual machine was refused: reason and error of the gateway.
pub fn refused(observed: &Observed, reason: Reason, error: &str) -> Finding {
    let machine = observed.virtual_machine.as_ref();
    let hypervisor = machine.map_or("", |machine| machine.hypervisor.as_str());
    let remedy = match reason {
        Reason::ImageDiffers | Reason::InvalidSpec => {
            format!(". {}", correct::remedy(&observed.machine))
        }
        _ => String::new(),
    };
    let message = format!("Hypervisor {hypervisor}: {error}{remedy}");
    Finding::no(INFRASTRUCTURE, reason, message)
}

/// Why the virtual machine is not deleted: reason and error of the gateway, or why that is not
/// asked.
pub fn not_deleted(observed: &Observed, reason: Reason, why: &str) -> Finding {
    let message = format!(
        "its virtual machine cannot be deleted, and may still run its pods: {why}. If it is off for good: {}; or {}. It is deleted once its gateway answers; condition MachinesKnown of the Hypervisor names it until then",
        host_is_gone(observed),
        time_limit(observed)
    );
    Finding::yes(ConditionType::Deleting, reason, message)
}

/// How the virtual machine of a Machine is recorded on its Hypervisor, to be deleted later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It is recorded.
    Recorded,
    /// With this annotation.
    By(String),
}

/// Records the virtual machine of a Machine on its Hypervisor, read live.
///
/// # Errors
/// The record is full, or cannot be read: the Machine is not abandoned.
pub fn abandon(observed: &Observed, hypervisor: &Hypervisor) -> Result<Abandoned, Finding> {
    let marker = &observed.marker;
    let known = given_up::annotation(hypervisor);
    let with = AbandonedMachines::read(known.as_deref())
        .and_then(|given_up| given_up.with(&marker.uid, &marker.machine));
    match with {
        Ok(with) if known.as_ref() == Some(&with) => Ok(Abandoned::Recorded),
        Ok(with) => Ok(Abandoned::By(with)),
        Err(error) => {
            let reason = match error {
                AbandonError::Full => Reason::GivenUpFull,
                AbandonError::Unreadable => Reason::GivenUpUnreadable,
            };
            let name = hypervisor.name_any();
            let message = format!(
                "it cannot be removed yet: failed to record its virtual machine on Hypervisor {name}: {error}"
            );
            Err(Finding::yes(ConditionType::Deleting, reason, message))
        }
    }
}
