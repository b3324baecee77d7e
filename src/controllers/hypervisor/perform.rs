//! Deletes the virtual machines of abandoned Machines.

use std::time::Duration;

use kube::{Api, ResourceExt};
use serde_json::json;

use super::Hypervisors;
use super::observe::tries_key;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::gateway::Client;
use tatara_core::api::given_up::{self, AbandonedMachines};
use tatara_core::api::names::ANNOTATION_GIVEN_UP;
use tatara_core::api::{Hypervisor, Machine};
use tatara_core::hypervisor::live;
use tatara_core::pace::GATEWAY;
use tatara_core::proof::Ended;

/// Interval to the pass after an attempted deletion, which reports the result.
const AGAIN: Duration = Duration::from_secs(1);

/// Deletes the virtual machine of an abandoned Machine, unless the Machine exists: then its own
/// deletion continues.
///
/// # Errors
/// `ReconcileError::Api` when the Machine or the Hypervisor cannot be read or written, `Conflict`
/// when the record changed. An error of the gateway is counted as a failed attempt.
pub async fn end(
    controller: &Hypervisors,
    hypervisor: &Hypervisor,
    (uid, name): (&str, &str),
) -> Result<ActionOutcome, ReconcileError> {
    let namespace = hypervisor.namespace().unwrap_or_default();
    let connection = controller.gateways.get(&namespace, &hypervisor.name_any());
    let Some(connection) = connection else {
        return Ok(ActionOutcome::Yes);
    };
    if exists(controller, &namespace, (uid, name)).await? {
        // although the store does not show it
        return Ok(ActionOutcome::LookAgain(GATEWAY));
    }
    match ended(controller, connection.client(), (uid, name)).await {
        Ok(ended) => forget(controller, hypervisor, &ended, uid).await?,
        Err(why) => {
            let why = live::not_ended(why);
            controller.tries.again(&tries_key(uid), Some(why));
        }
    }
    Ok(ActionOutcome::LookAgain(AGAIN))
}

/// Whether the Machine exists: in the store, in any namespace, or read live.
async fn exists(
    controller: &Hypervisors,
    namespace: &str,
    (uid, name): (&str, &str),
) -> Result<bool, ReconcileError> {
    let is_stored = controller.base.stores().machines.by_uid(uid).is_some();
    let live = if is_stored {
        None
    } else {
        let machines: Api<Machine> = Api::namespaced(controller.base.client(), namespace);
        let live = machines.get_metadata_opt(name).await;
        let live = live.map_err(ReconcileError::api(format!("read Machine {name}")))?;
        live.and_then(|machine| machine.uid())
    };
    Ok(live::exists(uid, is_stored, live.as_deref()))
}

/// Deletes one virtual machine of ours with its disks, and verifies its absence. The error says why
/// this failed.
async fn ended(
    controller: &Hypervisors,
    client: &Client,
    (uid, name): (&str, &str),
) -> Result<Ended, String> {
    let shown = client.machine(uid).await;
    live::may_delete(
        shown.as_ref().map(Option::as_ref),
        &controller.base.management,
    )?;
    let deleted = client.delete(uid).await;
    let shown = match &deleted {
        Ok(()) => client.machine(uid).await.map(|shown| shown.is_some()),
        // not asked
        Err(_) => Ok(false),
    };
    let ended = live::ended(uid, &deleted, shown)?;
    tracing::info!(
        machine = name,
        uid,
        "deleted the virtual machine of a Machine that was removed before"
    );
    Ok(ended)
}

/// Removes the record of a virtual machine that was deleted.
async fn forget(
    controller: &Hypervisors,
    hypervisor: &Hypervisor,
    ended: &Ended,
    uid: &str,
) -> Result<(), ReconcileError> {
    if !ended.is_about(uid) {
        return Ok(());
    }
    // read live: the record may just have been written for another Machine, or by an earlier pass
    let current = patch::live(&controller.base.engine, hypervisor).await?;
    let Ok(given_up) = AbandonedMachines::read(given_up::annotation(&current).as_deref()) else {
        return Ok(());
    };
    let without = given_up.without(uid);
    let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): without } } });
    patch::swap(
        &controller.base.engine,
        &current,
        given_up::annotation,
        change,
    )
    .await?;
    controller.tries.forget(&tries_key(uid));
    Ok(())
}
