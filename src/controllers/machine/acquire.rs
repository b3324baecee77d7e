//! A Machine finds its place: what it chose is written on it first, then the claim on the Host. Both by
//! compare-and-swap.

use crate::api::conditions::ConditionType;
use crate::core::finalizers;
use std::sync::PoisonError;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde_json::json;

use super::perform::wake_again;
use super::virtual_machine;
use crate::api::machine::MachineSpec;
use crate::api::names::{
    ANNOTATION_HOST, ANNOTATION_PAUSED, FINALIZER_IN_USE, FINALIZER_MACHINE, LABEL_CONTROL_PLANE,
};
use crate::api::{Host, Machine, MachineProviderSpec, conditions};
use crate::core::claim::is_of;
use crate::core::machine::plan::claim::chosen;
use crate::core::machine::{Observed, PendingClaim};
use crate::core::proof::Clean;
use crate::engine::{Done, ReconcileError, patch};
use crate::manager::Context;

pub(super) async fn adopt(
    context: &Context,
    observed: &Observed,
    host: Option<&str>,
) -> Result<Done, ReconcileError> {
    let machine = observed.machine.as_ref();
    if observed.spec.is_err() {
        return Ok(Done::Yes);
    }
    let change = |machine: &Machine| {
        let finalizers = finalizers::with(machine, FINALIZER_MACHINE);
        let mut change = match host {
            Some(host) => chosen(observed, host),
            None => json!({}),
        };
        change["metadata"]["finalizers"] = json!(finalizers);
        if machine.spec.provider_spec.value.is_none() {
            change["spec"]["providerSpec"] = json!({ "value": observed.resolved });
        }
        if machine.is_control_plane() {
            change["metadata"]["labels"] = json!({ (LABEL_CONTROL_PLANE): "true" });
        }
        change
    };
    patch::swap(&context.engine, machine, basis, change)
        .await
        .map(|_| Done::Yes)
}

/// What the choice of a place rests on.
fn basis(machine: &Machine) -> (MachineSpec, Option<Time>, Option<String>) {
    (
        machine.spec.clone(),
        machine.metadata.deletion_timestamp.clone(),
        machine.annotations().get(ANNOTATION_HOST).cloned(),
    )
}

/// Writes down the place that the Machine chose, if that is not so yet. Another is chosen only where nothing of the
/// Machine is on the one before.
async fn choose(
    context: &Context,
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
            "nothing proves that the one before has nothing of it",
        ));
    }
    if is_known {
        return Ok(());
    }
    let machine = observed.machine.as_ref();
    let change = |_: &Machine| chosen(observed, host);
    patch::swap(&context.engine, machine, basis, change)
        .await
        .map(drop)
}

/// Claims a host by compare-and-swap. The claim is remembered until the store shows it, so that a
/// stale store never makes a Machine take a second host.
pub(super) async fn acquire(
    context: &Context,
    observed: &Observed,
    name: &str,
    instead: Option<&Clean>,
) -> Result<Done, ReconcileError> {
    if let Ok(MachineProviderSpec::Simulated(spec)) = &observed.spec {
        if observed.machine.spec.provider_id.is_none() {
            choose(context, observed, name, instead).await?;
        }
        context.simulated.acquire(observed, spec);
        wake_again(context, observed);
        return Ok(Done::Yes);
    }
    if let Ok(MachineProviderSpec::Libvirt(spec)) = &observed.spec {
        virtual_machine::reserve(context, observed, spec).await?;
        wake_again(context, observed);
        return Ok(Done::Yes);
    }
    let Some(host) = context.stores.hosts.get(&observed.marker.namespace, name) else {
        return Ok(Done::Yes);
    };
    choose(context, observed, name, instead).await?;
    context.must_lead()?;
    let change = |host: &Host| {
        json!({
            "metadata": { "finalizers": finalizers::with(host, FINALIZER_IN_USE) },
            "spec": { "consumerRef": {
                "name": observed.marker.machine,
                "uid": observed.uid(),
                "cluster": observed.marker.cluster,
                "releasing": false,
            } },
        })
    };
    // everything that the choice rested on
    let part = |host: &Host| {
        let status = host.status.as_ref();
        let is_available =
            status.is_some_and(|s| conditions::is_true(&s.conditions, ConditionType::Available));
        let deleted = host.metadata.deletion_timestamp.clone();
        let is_paused = host.annotations().contains_key(ANNOTATION_PAUSED);
        (host.spec.clone(), deleted, is_available, is_paused)
    };
    let claimed = match patch::swap(&context.engine, host.as_ref(), part, change).await {
        Err(error) if error.is_conflict() => {
            forget_choice(context, observed, &host).await?;
            return Err(error);
        }
        result => result?,
    };
    let claim = PendingClaim {
        host: name.to_owned(),
        generation: claimed.metadata.generation,
    };
    claims(context).insert(observed.uid().to_owned(), claim);
    Ok(Done::Yes)
}

/// A Machine that came second for its host chooses anew: else it would wait for a host that another has. Not where the
/// claim is its own after all, as when the answer to it was lost.
async fn forget_choice(
    context: &Context,
    observed: &Observed,
    host: &Host,
) -> Result<(), ReconcileError> {
    let live = patch::live(&context.engine, host).await?;
    if is_of(&live, &observed.marker) {
        return Ok(());
    }
    context.must_lead()?;
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HOST): null } } });
    patch::write(&context.engine, observed.machine.as_ref(), change)
        .await
        .map(drop)
}

pub(super) fn claims(
    context: &Context,
) -> std::sync::MutexGuard<'_, std::collections::HashMap<String, PendingClaim>> {
    context
        .claims
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}
