//! Does what a plan says.

use std::borrow::Cow;

use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::live::{in_flight, look};
use super::observed::Observed;
use super::plan::{
    Action, InPlace, Plan, controller_reference, desired_machine, plan as plan_again,
};
use crate::api::{Machine, MachineSet};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Does the plan's actions in order, after a look at what there is at this moment where that matters.
/// A name that somebody else has keeps no other Machine from being made; the next pass takes another.
pub async fn execute(
    context: &Context,
    set: &MachineSet,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let mut observed = Cow::Borrowed(observed);
    let mut plan = Cow::Borrowed(plan);
    let knows = in_flight(context).knows(&observed.uid, set.metadata.generation);
    if plan.needs_look(knows) {
        observed = Cow::Owned(look(context, set, &plan, now).await?);
        plan = Cow::Owned(plan_again(&observed, now));
    }
    let mut taken = Ok(());
    for action in &plan.actions {
        context.must_lead()?;
        match act(context, &observed, action, now).await {
            Err(error) if is_create(action) && error.is_conflict() => taken = Err(error),
            done => done?,
        }
    }
    taken
}

fn is_create(action: &Action) -> bool {
    matches!(action, Action::Create { .. })
}

async fn create(
    context: &Context,
    observed: &Observed,
    name: &str,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(context.client.clone(), &observed.namespace);
    let machine = desired_machine(observed, name);
    in_flight(context).making(&observed.uid, machine.clone(), now);
    let made = machines.create(&PostParams::default(), &machine).await;
    match &made {
        Ok(machine) => in_flight(context).found(&observed.uid, machine.clone(), now),
        // refused: an answer of any other kind leaves open whether it was made
        Err(kube::Error::Api(status)) if status.code < 500 => {
            in_flight(context).settled(&observed.uid, name);
        }
        Err(_) => {}
    }
    made.map(drop)
        .map_err(ReconcileError::api(format!("create Machine {name}")))
}

async fn delete(
    context: &Context,
    observed: &Observed,
    (name, uid): (&str, &str),
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(context.client.clone(), &observed.namespace);
    let only = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(only),
        ..DeleteParams::background()
    };
    in_flight(context).deleting(&observed.uid, (name, uid), now);
    let mut result = machines.delete(name, &params).await.map(drop);
    if matches!(&result, Err(kube::Error::Api(status)) if status.code == 404) {
        result = Ok(());
    }
    // refused: an answer of any other kind leaves open whether it was carried out
    if matches!(&result, Err(kube::Error::Api(status)) if status.code < 500) {
        in_flight(context).kept(&observed.uid, uid);
    }
    result.map_err(ReconcileError::api(format!("delete Machine {name}")))
}

async fn act(
    context: &Context,
    observed: &Observed,
    action: &Action,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    match action {
        Action::Create { name, because } => {
            create(context, observed, name, now).await?;
            tracing::info!(
                set = observed.name,
                machine = name,
                because,
                "made a Machine"
            );
            Ok(())
        }
        Action::Delete { name, uid, because } => {
            tracing::info!(
                set = observed.name,
                machine = name,
                because,
                "deleting a Machine"
            );
            delete(context, observed, (name, uid), now).await
        }
        Action::Adopt { name, uid } => {
            let change = |machine: &Machine| {
                let mut owners = machine.owner_references().to_vec();
                owners.push(controller_reference(observed));
                json!({ "metadata": { "ownerReferences": owners } })
            };
            write(context, observed, name, uid, change).await
        }
        Action::UpdateInPlace { name, uid, changes } => {
            write(context, observed, name, uid, |machine| {
                in_place(machine, changes)
            })
            .await
        }
    }
}

async fn write(
    context: &Context,
    observed: &Observed,
    name: &str,
    uid: &str,
    change: impl Fn(&Machine) -> Value,
) -> Result<(), ReconcileError> {
    let Some(machine) = context.stores.machines.get(&observed.namespace, name) else {
        return Ok(());
    };
    if machine.uid().as_deref() != Some(uid) {
        return Ok(());
    }
    let part = |machine: &Machine| {
        let meta = &machine.metadata;
        let owned = (meta.labels.clone(), meta.owner_references.clone());
        (machine.spec.clone(), owned)
    };
    patch::swap(&context.client, machine.as_ref(), part, change)
        .await
        .map(drop)
}

fn in_place(machine: &Machine, changes: &InPlace) -> Value {
    let mut spec = json!({ "metadata": { "labels": changes.node_labels, "annotations": changes.node_annotations } });
    if let Some(taints) = &changes.taints {
        spec["taints"] = json!(taints);
    }
    if let Some(deletion) = &changes.deletion {
        let have = machine.spec.deletion.clone().unwrap_or_default();
        spec["deletion"] = patch::replacement(&json!(have), &json!(deletion));
    }
    json!({ "metadata": { "labels": changes.labels, "annotations": changes.annotations }, "spec": spec })
}
