//! Keeps a Hypervisor while Machines are on it, and ends the virtual machines of Machines that were given up.

use std::time::Duration;

use kube::{Api, ResourceExt};
use serde_json::json;

use super::observe::{is_ours, tries_key};
use super::observed::Observed;
use super::plan::{End, NOT_OURS, Plan};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::given_up::{self, GivenUp};
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::api::{Hypervisor, Machine};
use crate::controllers::proof::{Ended, Proof};
use crate::controllers::{Next, ReconcileError, patch};
use crate::gateway::Client;
use crate::manager::Context;

/// How soon a pass follows one that ended, or tried to end, something: it says what came of it.
const AGAIN: Duration = Duration::from_secs(1);
/// How soon a Machine is looked at again that the store does not show, and that exists.
const EXISTS_AGAIN: Duration = Duration::from_secs(10);

/// Writes or takes away the finalizer, where it has to be, and ends what is to be ended. Says when to look again.
pub async fn execute(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
) -> Result<Next, ReconcileError> {
    context.must_lead()?;
    let hypervisor = observed.hypervisor.as_ref();
    patch::hold(&context.client, hypervisor, plan.held).await?;
    let namespace = hypervisor.namespace().unwrap_or_default();
    let connection = context.gateways.get(&namespace, &hypervisor.name_any());
    let (Some(connection), false) = (connection, plan.ends.is_empty()) else {
        return Ok(plan.next);
    };
    let mut next = plan.next;
    for end in &plan.ends {
        context.must_lead()?;
        if exists(context, &namespace, end).await? {
            next = next.sooner(Next::After(EXISTS_AGAIN));
            continue;
        }
        next = next.sooner(Next::After(AGAIN));
        match ended(context, connection.client(), end).await {
            Ok(ended) => forget(context, hypervisor, &ended, &end.uid).await?,
            Err(why) => {
                let why = Finding::no(ConditionType::MachinesKnown, Reason::EndingGivenUp, why);
                context.tries.again(&tries_key(&end.uid), Some(why));
            }
        }
    }
    Ok(next)
}

/// Whether the Machine is still there, live: its own deletion goes on then. One of another namespace is seen as well.
async fn exists(context: &Context, namespace: &str, end: &End) -> Result<bool, ReconcileError> {
    if context.stores.machines.by_uid(&end.uid).is_some() {
        return Ok(true);
    }
    let machines: Api<Machine> = Api::namespaced(context.client.clone(), namespace);
    let live = machines.get_metadata_opt(&end.name).await;
    let live = live.map_err(ReconcileError::api(format!("read Machine {}", end.name)))?;
    Ok(live.is_some_and(|machine| machine.uid().as_deref() == Some(&end.uid)))
}

/// Ends one virtual machine that is ours, with its disks, and reads that it is gone. An error says why it is not.
async fn ended(context: &Context, client: &Client, end: &End) -> Result<Ended, String> {
    let shown = client.machine(&end.uid).await;
    let shown = shown.map_err(|error| error.to_string())?;
    if shown.is_some_and(|shown| !is_ours(context, &shown)) {
        return Err(NOT_OURS.into());
    }
    let deleted = client.delete(&end.uid).await;
    if let Err(error) = &deleted {
        return Err(error.to_string());
    }
    match client.machine(&end.uid).await {
        Ok(None) => {}
        Ok(Some(_)) => return Err("the gateway shows it after its deletion".into()),
        Err(error) => return Err(error.to_string()),
    }
    tracing::info!(
        machine = end.name,
        uid = end.uid,
        "the virtual machine of a Machine that was given up is ended"
    );
    let proof = Proof::of_gateway(&end.uid, &deleted);
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
    let current = patch::live(&context.client, hypervisor).await?;
    let Ok(given_up) = GivenUp::read(given_up::annotation(&current).as_deref()) else {
        return Ok(());
    };
    let without = given_up.without(uid);
    let change = |_: &Hypervisor| json!({ "metadata": { "annotations": { (ANNOTATION_GIVEN_UP): without } } });
    patch::swap(&context.client, &current, given_up::annotation, change).await?;
    context.tries.forget(&tries_key(uid));
    Ok(())
}
