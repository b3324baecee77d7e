//! Abandons a virtual machine that cannot be deleted: it is recorded on its Hypervisor, whose controller deletes it
//! later.

use kube::Api;
use serde_json::json;

use super::Libvirt;
use crate::api::Hypervisor;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::given_up::{self, AbandonError, AbandonedMachines};
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::core::machine::Observed;
use crate::engine::{ActionOutcome, ReconcileError, patch};

/// Records the Machine on its Hypervisor by compare-and-swap. If the record is full, the Machine is not abandoned. If
/// the Hypervisor was deleted, nothing is recorded and nothing will be deleted.
///
/// # Errors
/// The Hypervisor cannot be read.
pub async fn give_up(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let Some(machine) = &observed.virtual_machine else {
        return Ok(ActionOutcome::Yes);
    };
    let (name, marker) = (&machine.hypervisor, &observed.marker);
    let hypervisors: Api<Hypervisor> =
        Api::namespaced(libvirt.engine.client.clone(), &marker.namespace);
    let found = hypervisors.get_opt(name).await;
    let found = found.map_err(ReconcileError::api(format!("read Hypervisor {name}")))?;
    let Some(hypervisor) = found else {
        return Ok(ActionOutcome::Yes);
    };
    let known = given_up::annotation(&hypervisor);
    let with = AbandonedMachines::read(known.as_deref())
        .and_then(|given_up| given_up.with(&marker.uid, &marker.machine));
    match with {
        Ok(with) if known.as_ref() == Some(&with) => Ok(ActionOutcome::Yes),
        Ok(with) => {
            let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): with } } });
            patch::swap(&libvirt.engine, &hypervisor, given_up::annotation, change).await?;
            Ok(ActionOutcome::Yes)
        }
        Err(error) => {
            let reason = match error {
                AbandonError::Full => Reason::GivenUpFull,
                AbandonError::Unreadable => Reason::GivenUpUnreadable,
            };
            let message = format!(
                "it cannot be removed yet: failed to record its virtual machine on Hypervisor {name}: {error}"
            );
            Ok(ActionOutcome::NotYet(Finding::yes(
                ConditionType::Deleting,
                reason,
                message,
            )))
        }
    }
}
