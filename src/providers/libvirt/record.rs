//! Records the Hypervisor of a virtual machine a second time, on the Secret of its keys: see
//! [`tatara_core::machine::live::keys`]. If the Machine's annotation names another Hypervisor, that
//! one is not searched.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use super::Libvirt;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use tatara_core::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use tatara_core::machine::Observed;
use tatara_core::machine::live::keys::{is_of, recorded};

/// Records the Hypervisor of a virtual machine that an older release created and that its gateway
/// reports.
///
/// # Errors
/// The Secret or the Machine cannot be read or written.
pub async fn record(
    libvirt: &Libvirt,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let Some(machine) = &observed.virtual_machine else {
        return Ok(ActionOutcome::Yes);
    };
    if let Some(keys) = live(libvirt, observed).await? {
        write(libvirt, &keys, &machine.hypervisor).await?;
    }
    Ok(ActionOutcome::Yes)
}

/// Records that no virtual machine exists: another Hypervisor may be chosen, even if a third one is
/// unreachable.
///
/// # Errors
/// `ReconcileError::Api` when the Secret cannot be read; otherwise those of [`patch::swap`].
pub(super) async fn forget(libvirt: &Libvirt, observed: &Observed) -> Result<(), ReconcileError> {
    match live(libvirt, observed).await? {
        Some(keys) => write(libvirt, &keys, "").await.map(drop),
        None => Ok(()),
    }
}

async fn live(libvirt: &Libvirt, observed: &Observed) -> Result<Option<Secret>, ReconcileError> {
    let name = ssh_secret(&observed.marker.machine);
    let secrets: Api<Secret> =
        Api::namespaced(libvirt.engine.client.clone(), &observed.marker.namespace);
    let found = secrets.get_opt(&name).await;
    let found = found.map_err(ReconcileError::api(format!("read Secret {name}")))?;
    Ok(found.filter(|keys| is_of(keys, observed.uid())))
}

/// Writes the name of a Hypervisor on the keys, if they name the same one as before.
///
/// # Errors
/// Those of [`patch::swap`].
pub(super) async fn write(
    libvirt: &Libvirt,
    keys: &Secret,
    hypervisor: &str,
) -> Result<Secret, ReconcileError> {
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HYPERVISOR): hypervisor } } });
    patch::swap(&libvirt.engine, keys, recorded, |_| change.clone()).await
}
