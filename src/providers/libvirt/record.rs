//! On which Hypervisor a virtual machine was made, written down a second time: on the Secret of its keys, which exists
//! before it and which nobody edits by accident. Whose annotation names another is not looked for there. An empty name says
//! that it was made nowhere: the Machine has left the Hypervisor on which it was to be made.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::Libvirt;
use crate::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use crate::core::machine::Observed;
use crate::engine::{ActionOutcome, ReconcileError, patch};

/// Whether these are the keys of the Machine of this UID.
pub(super) fn is_of(keys: &Secret, uid: &str) -> bool {
    keys.owner_references().iter().any(|owner| owner.uid == uid)
}

/// The Hypervisor that they say.
pub(super) fn recorded(keys: &Secret) -> Option<String> {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR).cloned();
    named.filter(|hypervisor| !hypervisor.is_empty())
}

/// Whether anything may have been made with these keys.
pub(super) fn may_be_used(keys: &Secret) -> bool {
    let named = keys.annotations().get(ANNOTATION_HYPERVISOR);
    named.is_none_or(|hypervisor| !hypervisor.is_empty())
}

/// Writes it down for a virtual machine that an older version made, and that its gateway shows.
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

/// Nothing of it is anywhere: another Hypervisor may be chosen, whatever a third one says or does not say.
pub(super) async fn forget(libvirt: &Libvirt, observed: &Observed) -> Result<(), ReconcileError> {
    match live(libvirt, observed).await? {
        Some(keys) => write(libvirt, &keys, "").await.map(drop),
        None => Ok(()),
    }
}

/// Keys that are there say where their virtual machine is made, before it is made; those that name another Hypervisor are
/// left alone, and an error says so.
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
