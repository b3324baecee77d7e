//! Records a Machine's chosen place on the Machine by compare-and-swap, before the place is claimed or created.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::api::Machine;
use crate::api::machine::MachineSpec;
use crate::api::names::ANNOTATION_HOST;
use crate::core::machine::Observed;
use crate::core::machine::plan::claim::chosen;
use crate::core::proof::Clean;
use crate::engine::{Engine, ReconcileError, patch};

/// The fields that the choice of a place depends on.
pub fn basis(machine: &Machine) -> (MachineSpec, Option<Time>, Option<String>) {
    (
        machine.spec.clone(),
        machine.metadata.deletion_timestamp.clone(),
        machine.annotations().get(ANNOTATION_HOST).cloned(),
    )
}

/// Records the chosen host on the Machine, unless it is recorded already. To replace a former choice, proof is required
/// that nothing of the Machine is on the former host.
///
/// # Errors
/// `ReconcileError::Other` without that proof; otherwise those of [`patch::swap`].
pub(super) async fn choose(
    engine: &Engine,
    observed: &Observed,
    host: &str,
    instead: Option<&Clean>,
) -> Result<(), ReconcileError> {
    let before = observed.chosen.as_ref().map(|chosen| chosen.host.as_str());
    let is_known = before == Some(host) && observed.machine.spec.provider_id.is_some();
    let is_proven = instead.is_some_and(|clean| clean.is_about(observed.uid()));
    if before.is_some_and(|before| before != host) && !is_proven {
        return Err(ReconcileError::other(
            "choose another host for a Machine",
            "there is no proof that the former host has nothing of it",
        ));
    }
    if is_known {
        return Ok(());
    }
    let machine = observed.machine.as_ref();
    let change = |_: &Machine| chosen(observed, host);
    patch::swap(engine, machine, basis, change).await.map(drop)
}
