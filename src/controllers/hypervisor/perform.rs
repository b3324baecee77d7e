//! Deletes the virtual machines of Machines that were given up.

use std::time::Duration;

use kube::{Api, ResourceExt};
use serde_json::json;

use super::observe::{is_ours, tries_key};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::given_up::{self, GivenUp};
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::api::{Hypervisor, Machine};
use crate::core::hypervisor::plan::NOT_OURS;
use crate::core::proof::{Ended, Proof};
use crate::engine::{Done, ReconcileError, patch};
use crate::gateway::Client;
use crate::manager::Context;

/// How soon a pass follows one that ended, or tried to end, something: it says what came of it.
const AGAIN: Duration = Duration::from_secs(1);
/// How soon a Machine is looked at again that the store does not show, and that exists.
const EXISTS_AGAIN: Duration = Duration::from_secs(10);

/// Deletes the virtual machine of a Machine that was given up, unless the Machine exists: its own deletion goes on then.
pub async fn end(
    context: &Context,
    hypervisor: &Hypervisor,
    (uid, name): (&str, &str),
) -> Result<Done, ReconcileError> {
    let namespace = hypervisor.namespace().unwrap_or_default();
    let connection = context.gateways.get(&namespace, &hypervisor.name_any());
    let Some(connection) = connection else {
        return Ok(Done::Yes);
    };
    if exists(context, &namespace, (uid, name)).await? {
        return Ok(Done::LookAgain(EXISTS_AGAIN));
    }
    match ended(context, connection.client(), (uid, name)).await {
        Ok(ended) => forget(context, hypervisor, &ended, uid).await?,
        Err(why) => {
            let why = Finding::no(ConditionType::MachinesKnown, Reason::EndingGivenUp, why);
            context
                .providers
                .libvirt
                .tries
                .again(&tries_key(uid), Some(why));
        }
    }
    Ok(Done::LookAgain(AGAIN))
}

/// Whether the Machine is still there, live. One of another namespace is seen as well.
async fn exists(
    context: &Context,
    namespace: &str,
    (uid, name): (&str, &str),
) -> Result<bool, ReconcileError> {
    if context.stores.machines.by_uid(uid).is_some() {
        return Ok(true);
    }
    let machines: Api<Machine> = Api::namespaced(context.client.clone(), namespace);
    let live = machines.get_metadata_opt(name).await;
    let live = live.map_err(ReconcileError::api(format!("read Machine {name}")))?;
    Ok(live.is_some_and(|machine| machine.uid().as_deref() == Some(uid)))
}

/// Ends one virtual machine that is ours, with its disks, and reads that it is gone. An error says why it is not.
async fn ended(
    context: &Context,
    client: &Client,
    (uid, name): (&str, &str),
) -> Result<Ended, String> {
    let shown = client.machine(uid).await;
    let shown = shown.map_err(|error| error.to_string())?;
    if shown.is_some_and(|shown| !is_ours(context, &shown)) {
        return Err(NOT_OURS.into());
    }
    let deleted = client.delete(uid).await;
    if let Err(error) = &deleted {
        return Err(error.to_string());
    }
    match client.machine(uid).await {
        Ok(None) => {}
        Ok(Some(_)) => return Err("the gateway shows it after its deletion".into()),
        Err(error) => return Err(error.to_string()),
    }
    tracing::info!(
        machine = name,
        uid,
        "deleted the virtual machine of a Machine that was removed before"
    );
    let proof = Proof::of_gateway(uid, &deleted);
    let ended = proof.as_ref().and_then(Ended::from);
    ended.ok_or_else(|| "it is not ended".into())
}

/// It is gone for good: nothing has to be kept in mind.
async fn forget(
    context: &Context,
    hypervisor: &Hypervisor,
    ended: &Ended,
    uid: &str,
) -> Result<(), ReconcileError> {
    if !ended.is_about(uid) {
        return Ok(());
    }
    // written a moment ago for another Machine, or for this one by a pass before
    let current = patch::live(&context.engine, hypervisor).await?;
    let Ok(given_up) = GivenUp::read(given_up::annotation(&current).as_deref()) else {
        return Ok(());
    };
    let without = given_up.without(uid);
    let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): without } } });
    patch::swap(&context.engine, &current, given_up::annotation, change).await?;
    context.providers.libvirt.tries.forget(&tries_key(uid));
    Ok(())
}
