//! On which Hypervisor a virtual machine was made, written down a second time: on the Secret of its keys, which exists
//! before it and which nobody edits by accident. Whose annotation names another is not looked for there.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::super::execute::Done;
use super::super::observed::Observed;
use crate::api::names::{ANNOTATION_HYPERVISOR, ssh_secret};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Whether these are the keys of the Machine of this UID.
pub(super) fn is_of(keys: &Secret, uid: &str) -> bool {
    keys.owner_references().iter().any(|owner| owner.uid == uid)
}

/// The Hypervisor that they say.
pub(super) fn recorded(keys: &Secret) -> Option<String> {
    keys.annotations().get(ANNOTATION_HYPERVISOR).cloned()
}

/// Writes it down for a virtual machine that an older version made, and that its gateway shows.
pub async fn record(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    let Some(machine) = &observed.virtual_machine else {
        return Ok(Done::Yes);
    };
    if let Some(keys) = live(context, observed).await? {
        write(context, &keys, Some(&machine.hypervisor)).await?;
    }
    Ok(Done::Yes)
}

/// Nothing of it was made there: another Hypervisor may be chosen.
pub(super) async fn forget(context: &Context, observed: &Observed) -> Result<(), ReconcileError> {
    match live(context, observed).await? {
        Some(keys) => write(context, &keys, None).await.map(drop),
        None => Ok(()),
    }
}

/// Keys that are there say where their virtual machine is made, before it is made; those that name another Hypervisor are
/// left alone, and an error says so.
pub(super) async fn agree(
    context: &Context,
    keys: Secret,
    hypervisor: &str,
) -> Result<Secret, ReconcileError> {
    match recorded(&keys) {
        Some(other) if other != hypervisor => Err(ReconcileError::Conflict {
            what: format!(
                "make a virtual machine on Hypervisor {hypervisor}: Secret {} names {other}",
                keys.name_any()
            ),
        }),
        Some(_) => Ok(keys),
        None => write(context, &keys, Some(hypervisor)).await,
    }
}

async fn live(context: &Context, observed: &Observed) -> Result<Option<Secret>, ReconcileError> {
    let name = ssh_secret(&observed.marker.machine);
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &observed.marker.namespace);
    let found = secrets.get_opt(&name).await;
    let found = found.map_err(ReconcileError::api(format!("read Secret {name}")))?;
    Ok(found.filter(|keys| is_of(keys, observed.uid())))
}

async fn write(
    context: &Context,
    keys: &Secret,
    hypervisor: Option<&str>,
) -> Result<Secret, ReconcileError> {
    let value = hypervisor.map_or(Value::Null, Value::from);
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HYPERVISOR): value } } });
    patch::swap(&context.client, keys, recorded, |_| change.clone()).await
}
