//! Abandons a virtual machine that cannot be deleted: it is recorded on its Hypervisor, whose
//! controller deletes it later.

use kube::Api;
use serde_json::json;

use super::Libvirt;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use tatara_core::api::Hypervisor;
use tatara_core::api::given_up;
use tatara_core::api::names::ANNOTATION_GIVEN_UP;
use tatara_core::machine::Observed;
use tatara_core::machine::live::virtual_machine::{Abandoned, abandon};

/// Records the Machine on its Hypervisor by compare-and-swap. If the record is full, the Machine is
/// not abandoned. If the Hypervisor was deleted, nothing is recorded and nothing will be deleted.
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
    let (name, namespace) = (&machine.hypervisor, &observed.marker.namespace);
    let hypervisors: Api<Hypervisor> = Api::namespaced(libvirt.engine.client.clone(), namespace);
    let found = hypervisors.get_opt(name).await;
    let found = found.map_err(ReconcileError::api(format!("read Hypervisor {name}")))?;
    let Some(hypervisor) = found else {
        return Ok(ActionOutcome::Yes);
    };
    match abandon(observed, &hypervisor) {
        Ok(Abandoned::Recorded) => Ok(ActionOutcome::Yes),
        Ok(Abandoned::By(text)) => {
            let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): text } } });
            patch::swap(&libvirt.engine, &hypervisor, given_up::annotation, change).await?;
            Ok(ActionOutcome::Yes)
        }
        Err(finding) => Ok(ActionOutcome::NotYet(finding)),
    }
}
