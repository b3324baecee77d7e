//! Gives a Machine up whose virtual machine cannot be ended: its Hypervisor keeps it in mind, and ends it when it can.

use kube::Api;
use serde_json::json;

use super::Libvirt;
use crate::api::Hypervisor;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::given_up::{self, GivenUp, GivenUpError};
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::core::machine::Observed;
use crate::engine::{Done, ReconcileError, patch};

/// Writes the Machine down on its Hypervisor, by compare-and-swap. Without room there it is not given up. A Hypervisor
/// that does not exist any more keeps nothing in mind, and ends nothing.
pub async fn give_up(libvirt: &Libvirt, observed: &Observed) -> Result<Done, ReconcileError> {
    let Some(machine) = &observed.virtual_machine else {
        return Ok(Done::Yes);
    };
    let (name, marker) = (&machine.hypervisor, &observed.marker);
    let hypervisors: Api<Hypervisor> =
        Api::namespaced(libvirt.engine.client.clone(), &marker.namespace);
    let found = hypervisors.get_opt(name).await;
    let found = found.map_err(ReconcileError::api(format!("read Hypervisor {name}")))?;
    let Some(hypervisor) = found else {
        return Ok(Done::Yes);
    };
    let known = given_up::annotation(&hypervisor);
    let with = GivenUp::read(known.as_deref())
        .and_then(|given_up| given_up.with(&marker.uid, &marker.machine));
    match with {
        Ok(with) if known.as_ref() == Some(&with) => Ok(Done::Yes),
        Ok(with) => {
            let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): with } } });
            patch::swap(&libvirt.engine, &hypervisor, given_up::annotation, change).await?;
            Ok(Done::Yes)
        }
        Err(error) => {
            let reason = match error {
                GivenUpError::Full => Reason::GivenUpFull,
                GivenUpError::Unreadable => Reason::GivenUpUnreadable,
            };
            let message = format!(
                "it cannot be removed yet, for its virtual machine could not be noted on Hypervisor {name}: {error}"
            );
            Ok(Done::NotYet(Finding::yes(
                ConditionType::Deleting,
                reason,
                message,
            )))
        }
    }
}
