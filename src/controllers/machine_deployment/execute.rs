//! Does what a plan says.

use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use super::observed::Observed;
use super::plan::{Action, Plan, SetUpdate, desired_set};
use crate::api::{MachineDeployment, MachineSet};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Does the plan's actions in order.
pub async fn execute(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
) -> Result<(), ReconcileError> {
    let sets: Api<MachineSet> = Api::namespaced(context.client.clone(), &observed.namespace);
    for action in &plan.actions {
        context.must_lead()?;
        match action {
            Action::AdoptSet { name, uid } => {
                let owner = json!([{
                    "apiVersion": MachineDeployment::api_version(&()), "kind": MachineDeployment::kind(&()),
                    "name": observed.name, "uid": observed.uid, "controller": true, "blockOwnerDeletion": true,
                }]);
                write(
                    context,
                    observed,
                    name,
                    uid,
                    json!({ "metadata": { "ownerReferences": owner } }),
                )
                .await?;
            }
            Action::CreateSet(new) => {
                let made = sets
                    .create(&PostParams::default(), &desired_set(observed, new))
                    .await;
                made.map_err(ReconcileError::api(format!(
                    "create MachineSet {}",
                    new.name
                )))?;
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
                write(context, observed, &update.name, &update.uid, change(update)).await?;
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
    }
    Ok(())
}

async fn write(
    context: &Context,
    observed: &Observed,
    name: &str,
    uid: &str,
    change: Value,
) -> Result<(), ReconcileError> {
    let Some(set) = context.stores.machine_sets.get(&observed.namespace, name) else {
        return Ok(());
    };
    if set.uid().as_deref() != Some(uid) {
        return Ok(());
    }
    patch::swap(
        &context.client,
        set.as_ref(),
        |set| set.spec.clone(),
        |_| change.clone(),
    )
    .await
    .map(drop)
}

fn change(update: &SetUpdate) -> Value {
    let mut change = json!({ "metadata": { "annotations": update.annotations, "labels": update.labels }, "spec": {} });
    if let Some((_, replicas)) = update.replicas {
        change["spec"]["replicas"] = json!(replicas);
    }
    if let Some(template) = &update.template {
        change["spec"]["template"] = json!(template);
    }
    if let Some(seconds) = update.min_ready_seconds {
        change["spec"]["minReadySeconds"] = json!(seconds);
    }
    change
}
