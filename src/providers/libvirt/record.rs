//! Records the Hypervisor of a virtual machine a second time, on the Secret of its keys: that exists before the virtual
//! machine and is rarely edited. If the Machine's annotation names another Hypervisor, that one is not searched. An
//! empty name means that no virtual machine was created: the Machine left the Hypervisor that it was assigned to.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::Libvirt;
use crate::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use crate::core::machine::Observed;
use crate::engine::{ActionOutcome, ReconcileError, patch};

/// Whether these are the keys of the Machine with this UID.
pub(super) fn is_of(keys: &Secret, uid: &str) -> bool {
    keys.owner_references().iter().any(|owner| owner.uid == uid)
}

/// The Hypervisor that the Secret names.
pub(super) fn recorded(keys: &Secret) -> Option<String> {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR).cloned();
    named.filter(|hypervisor| !hypervisor.is_empty())
}

/// Whether a virtual machine may have been created with these keys.
pub(super) fn may_be_used(keys: &Secret) -> bool {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR);
    named.is_none_or(|hypervisor| !hypervisor.is_empty())
}

/// Records the Hypervisor of a virtual machine that an older release created and that its gateway reports.
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

/// Records that no virtual machine exists: another Hypervisor may be chosen, even if a third one is unreachable.
///
/// # Errors
/// `ReconcileError::Api` when the Secret cannot be read; otherwise those of [`patch::swap`].
pub(super) async fn forget(libvirt: &Libvirt, observed: &Observed) -> Result<(), ReconcileError> {
    match live(libvirt, observed).await? {
        Some(keys) => write(libvirt, &keys, "").await.map(drop),
        None => Ok(()),
    }
}

/// Records the Hypervisor on existing keys before the virtual machine is created. Keys that name another Hypervisor are
/// not changed.
///
/// # Errors
/// `ReconcileError::Conflict` when the Secret names another Hypervisor; otherwise those of [`patch::swap`].
pub(super) async fn agree(
    libvirt: &Libvirt,
    keys: Secret,
    hypervisor: &str,
) -> Result<Secret, ReconcileError> {
    match recorded(&keys) {
        Some(other) if other != hypervisor => Err(ReconcileError::Conflict {
            what: format!(
                "create a virtual machine on Hypervisor {hypervisor}: Secret {} names {other}",
                keys.name_any()
            ),
        }),
        Some(_) => Ok(keys),
        None => write(libvirt, &keys, hypervisor).await,
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

async fn write(
    libvirt: &Libvirt,
    keys: &Secret,
    hypervisor: &str,
) -> Result<Secret, ReconcileError> {
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HYPERVISOR): hypervisor } } });
    patch::swap(&libvirt.engine, keys, recorded, |_| change.clone()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_machine_that_has_left_its_hypervisor_say_that_nothing_was_made_with_them() {
        let keys = |named: Option<&str>| {
            let mut keys = Secret::default();
            keys.metadata.annotations =
                named.map(|named| [(ANNOTATION_HYPERVISOR.to_owned(), named.to_owned())].into());
            (recorded(&keys), may_be_used(&keys))
        };
        assert_eq!(keys(Some("a")), (Some("a".into()), true));
        assert_eq!(keys(Some("")), (None, false));
        assert_eq!(keys(None), (None, true), "of an older version");
    }
}
