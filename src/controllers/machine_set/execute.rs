//! Does what a plan says.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::observe::around;
use super::observed::Observed;
use super::plan::{
    Action, InPlace, Plan, controller_reference, desired_machine, plan as plan_again,
};
use crate::api::{Machine, MachineSet};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Does the plan's actions. Deletions are chosen again over a live list first: a stale one could name
/// a second victim.
pub async fn execute(
    context: &Context,
    set: &MachineSet,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(context.client.clone(), &observed.namespace);
    let deletes = |action: &&Action| matches!(action, Action::Delete { .. });
    for action in plan.actions.iter().filter(|action| !deletes(action)) {
        context.must_lead()?;
        act(context, &machines, observed, action).await?;
    }
    if plan.actions.iter().any(|action| deletes(&action)) {
        let live = machines
            .list(&ListParams::default())
            .await
            .map_err(ReconcileError::api("list Machines"))?;
        let live: Vec<Arc<Machine>> = live.items.into_iter().map(Arc::new).collect();
        let again = plan_again(&around(context, set, &live).set, now);
        for action in again.actions.iter().filter(deletes) {
            context.must_lead()?;
            act(context, &machines, observed, action).await?;
        }
    }
    Ok(())
}

async fn act(
    context: &Context,
    machines: &Api<Machine>,
    observed: &Observed,
    action: &Action,
) -> Result<(), ReconcileError> {
    match action {
        Action::Create { name, because, .. } => {
            let made = machines
                .create(&PostParams::default(), &desired_machine(observed, name))
                .await;
            made.map_err(ReconcileError::api(format!("create Machine {name}")))?;
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
            let only = Preconditions {
                uid: Some(uid.clone()),
                resource_version: None,
            };
            let params = DeleteParams {
                preconditions: Some(only),
                ..DeleteParams::background()
            };
            match machines.delete(name, &params).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                result => result
                    .map(drop)
                    .map_err(ReconcileError::api(format!("delete Machine {name}"))),
            }
        }
        Action::Adopt { name, uid } => {
            let owners = vec![controller_reference(observed)];
            write(
                context,
                observed,
                name,
                uid,
                json!({ "metadata": { "ownerReferences": owners } }),
            )
            .await
        }
        Action::UpdateInPlace { name, uid, changes } => {
            write(context, observed, name, uid, in_place(changes)).await
        }
    }
}

async fn write(
    context: &Context,
    observed: &Observed,
    name: &str,
    uid: &str,
    change: Value,
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
    patch::swap(&context.client, machine.as_ref(), part, |_| change.clone())
        .await
        .map(drop)
}

fn in_place(changes: &InPlace) -> Value {
    let mut spec = json!({ "metadata": { "labels": changes.node_labels, "annotations": changes.node_annotations } });
    if let Some(taints) = &changes.taints {
        spec["taints"] = json!(taints);
    }
    if let Some(deletion) = &changes.deletion {
        spec["deletion"] = json!(deletion);
    }
    json!({ "metadata": { "labels": changes.labels, "annotations": changes.annotations }, "spec": spec })
}
