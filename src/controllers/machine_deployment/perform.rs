//! Performs the actions of a plan.

use std::sync::Arc;

use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::Sight;
use crate::engine::{Engine, ReconcileError, patch};
use tatara_core::api::MachineSet;
use tatara_core::machine_deployment::plan::{Action, SetUpdate, controller_reference, desired_set};
use tatara_core::machine_set::live::basis;
use tatara_core::machine_set::{self, plan::adopted};

/// Performs one action.
///
/// # Errors
/// `ReconcileError::Conflict` when a set was modified concurrently or its name is taken; `Api` when
/// the API server fails.
pub async fn perform(
    engine: &Engine,
    Sight {
        observed,
        sets: known,
    }: &Sight,
    action: &Action,
) -> Result<(), ReconcileError> {
    let sets: Api<MachineSet> = Api::namespaced(engine.client.clone(), &observed.namespace);
    match action {
        Action::AdoptSet { name, uid } => {
            let change = |set: &MachineSet| {
                let mut owners = set.owner_references().to_vec();
                owners.push(controller_reference(observed));
                json!({ "metadata": { "ownerReferences": owners } })
            };
            write(engine, known, (name, uid), change).await?;
        }
        Action::AdoptMachine {
            name,
            uid,
            set,
            set_uid,
        } => {
            tracing::info!(
                deployment = observed.name,
                set,
                machine = name,
                "adopting a Machine"
            );
            let Some(set) = find(known, (set, set_uid)) else {
                return Ok(());
            };
            adopt(engine, &observed.namespace, (name, uid), set).await?;
        }
        Action::CreateSet(new) => {
            let made = sets
                .create(&PostParams::default(), &desired_set(observed, new))
                .await;
            let what = format!("create MachineSet {}", new.name);
            engine.learn(&made.map_err(ReconcileError::api(what))?);
            tracing::info!(
                deployment = observed.name,
                set = new.name,
                replicas = new.replicas,
                because = new.because.join("; "),
                "made a MachineSet"
            );
        }
        Action::UpdateSet(update) => {
            if let Some((from, to)) = update.replicas {
                tracing::info!(
                    deployment = observed.name,
                    set = update.name,
                    from,
                    to,
                    because = update.because.join("; "),
                    "scaling a MachineSet"
                );
            }
            let named = (update.name.as_str(), update.uid.as_str());
            write(engine, known, named, |set| change(set, update)).await?;
        }
        Action::DeleteSet { name, uid, because } => {
            tracing::info!(
                deployment = observed.name,
                set = name,
                because,
                "deleting a MachineSet"
            );
            let only = Preconditions {
                uid: Some(uid.clone()),
                resource_version: None,
            };
            let params = DeleteParams {
                preconditions: Some(only),
                ..DeleteParams::background()
            };
            match sets.delete(name, &params).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                result => result
                    .map(drop)
                    .map_err(ReconcileError::api(format!("delete MachineSet {name}")))?,
            }
        }
    }
    Ok(())
}

/// Gives a Machine to a set, if it is as the plan saw it: without a controller, and with the same
/// spec.
async fn adopt(
    engine: &Engine,
    namespace: &str,
    (name, uid): (&str, &str),
    set: &MachineSet,
) -> Result<(), ReconcileError> {
    let machine = engine.stores.machines.get(namespace, name);
    let Some(machine) = machine.filter(|machine| machine.uid().as_deref() == Some(uid)) else {
        return Ok(());
    };
    let template = set.spec.template.spec.provider_spec.value.clone();
    let set =
        machine_set::Observed::from_api(set, Ok(template.unwrap_or_default()), None, Vec::new());
    patch::swap(engine, machine.as_ref(), basis, |machine| {
        adopted(machine, &set)
    })
    .await
    .map(drop)
}

fn find<'a>(known: &'a [Arc<MachineSet>], (name, uid): (&str, &str)) -> Option<&'a MachineSet> {
    let mut known = known.iter();
    let found = known.find(|set| set.name_any() == name && set.uid().as_deref() == Some(uid));
    found.map(AsRef::as_ref)
}

async fn write(
    engine: &Engine,
    known: &[Arc<MachineSet>],
    named: (&str, &str),
    change: impl Fn(&MachineSet) -> Value,
) -> Result<(), ReconcileError> {
    let Some(set) = find(known, named) else {
        return Ok(());
    };
    patch::swap(engine, set, |set| set.spec.clone(), change)
        .await
        .map(drop)
}

fn change(set: &MachineSet, update: &SetUpdate) -> Value {
    let mut change = json!({ "metadata": { "annotations": update.annotations, "labels": update.labels }, "spec": {} });
    if let Some((_, replicas)) = update.replicas {
        change["spec"]["replicas"] = json!(replicas);
    }
    if let Some(template) = &update.template {
        change["spec"]["template"] =
            patch::replacement(&json!(set.spec.template), &json!(template));
    }
    if let Some(seconds) = update.min_ready_seconds {
        change["spec"]["minReadySeconds"] = json!(seconds);
    }
    change
}
