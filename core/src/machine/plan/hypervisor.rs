//! Which Hypervisor has a Machine's virtual machine. Its gateway proves that the Machine no longer
//! runs, so the annotation is not trusted alone: the Secret of the keys, and what other gateways
//! report, must not contradict it.

use crate::api::conditions::Reason;

use kube::ResourceExt;

use super::super::observed::{Observed, VirtualMachine};
use super::{Acquire, Action, Plan};
use crate::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use crate::remedy;

/// The annotation names another Hypervisor than the one that has the virtual machine: nothing is
/// created or deleted.
pub fn moved(observed: &Observed) -> Option<Plan> {
    let machine = observed.virtual_machine.as_ref()?;
    let annotation = observed.machine.annotations().get(ANNOTATION_HYPERVISOR);
    let name = &observed.marker.machine;
    let (really, says) = match (&machine.recorded, &machine.shown_by) {
        (Some(recorded), _) => {
            let secret = ssh_secret(name);
            (
                recorded,
                format!(
                    "Secret {secret} says that its virtual machine was created on Hypervisor {recorded}"
                ),
            )
        }
        (None, Some(other)) if !is_shown(machine) => {
            (other, format!("Hypervisor {other} has its virtual machine"))
        }
        _ => return None,
    };
    if annotation == Some(really) {
        return None;
    }
    let named = annotation.map_or_else(
        || format!("annotation {ANNOTATION_HYPERVISOR} was removed"),
        |annotation| format!("annotation {ANNOTATION_HYPERVISOR} names Hypervisor {annotation}"),
    );
    let message = format!(
        "{named}, but {says}; nothing is created or deleted, because only the gateway of Hypervisor {really} can do that. Set the annotation back: {}",
        remedy::machine::set_hypervisor(&observed.marker.namespace, name, really)
    );
    Some(Plan::stopped(observed, Reason::HypervisorMoved, message))
}

fn is_shown(machine: &VirtualMachine) -> bool {
    machine
        .told
        .as_ref()
        .is_ok_and(|told| told.machine.is_some())
}

/// Writes a second time where a virtual machine is that an older version made, while it is shown
/// there.
pub fn record(observed: &Observed, plan: &mut Plan) {
    let Some(machine) = &observed.virtual_machine else {
        return;
    };
    if machine.has_keys && machine.recorded.is_none() && is_shown(machine) {
        plan.actions.insert(0, Action::Acquire(Acquire::Record));
    }
}

/// Why it proves nothing that the gateway of its Hypervisor does not have it: another shows it, or
/// may have it.
pub fn doubt(observed: &Observed) -> Option<String> {
    let machine = observed.virtual_machine.as_ref()?;
    let here = &machine.hypervisor;
    if let Some(other) = &machine.shown_by {
        return Some(format!(
            "Hypervisor {here} does not have its virtual machine, and Hypervisor {other} has one with its UID, for example after a manual migration: it may be the live node; nothing is done. \
             Migrate it back to {here} (virsh migrate); only if it is a copy that is not needed, for example when its Node is not Ready, delete it on {other}"
        ));
    }
    let is_known = machine.recorded.as_ref() == Some(here);
    let is_made = machine.has_keys || observed.is_begun();
    let unheard = machine.unheard.as_ref().filter(|_| is_made && !is_known)?;
    // the one that answers proves nothing here
    let gone = format!(
        "{} --force",
        remedy::declare_gone(&observed.marker.namespace, &observed.marker.machine)
    );
    let then = if observed.is_deleting() {
        ""
    } else {
        ", and delete the Machine"
    };
    Some(format!(
        "Hypervisor {here} does not have its virtual machine, no other record says on which Hypervisor it was created, and Hypervisor {unheard} cannot be asked: see the conditions of {unheard}. Only if nothing of this Machine runs any more: {gone}{then}"
    ))
}
