//! Performs the actions of a plan.

use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::MachineSets;
use super::observe::around;
use crate::api::Machine;
use crate::api::names::ANNOTATION_MOVES_TO;
use crate::clock;
use crate::controllers::paused;
use crate::core::machine_set::plan::{
    Action, InPlace, controller_reference, desired_machine, may_move, moved,
};
use crate::core::machine_set::{Observed, Owner};
use crate::engine::{ActionOutcome, ReconcileError, patch};

/// Performs one action. If a name is taken, the other Machines are still created; the next pass chooses another name.
///
/// # Errors
/// `ReconcileError::Conflict` when a Machine was modified concurrently, `NotLeading` without leadership, `Api` when the
/// API server fails.
pub async fn perform(
    controller: &MachineSets,
    observed: &Observed,
    action: &Action,
) -> Result<ActionOutcome, ReconcileError> {
    match action {
        Action::Create { name, because } => {
            match create(controller, observed, name).await {
                Err(error) if error.is_conflict() => return Ok(ActionOutcome::Failed(error)),
                made => made?,
            }
            tracing::info!(
                set = observed.name,
                machine = name,
                because,
                "made a Machine"
            );
        }
        Action::Delete { name, uid, because } => {
            tracing::info!(
                set = observed.name,
                machine = name,
                because,
                "deleting a Machine"
            );
            delete(controller, observed, (name, uid)).await?;
        }
        Action::Move {
            name,
            uid,
            to,
            because,
        } => {
            let target = destination(controller, observed, (name, uid), to)?;
            tracing::info!(
                set = observed.name,
                machine = name,
                to = target.name,
                because,
                "moving a Machine"
            );
            write(controller, observed, name, uid, |machine| {
                moved(machine, &target)
            })
            .await?;
        }
        Action::Adopt { name, uid } => {
            let change = |machine: &Machine| {
                let mut owners = machine.owner_references().to_vec();
                owners.push(controller_reference(observed));
                json!({ "metadata": { "ownerReferences": owners } })
            };
            write(controller, observed, name, uid, change).await?;
        }
        Action::UpdateInPlace { name, uid, changes } => {
            write(controller, observed, name, uid, |machine| {
                in_place(machine, changes)
            })
            .await?;
        }
    }
    Ok(ActionOutcome::Yes)
}

async fn create(
    controller: &MachineSets,
    observed: &Observed,
    name: &str,
) -> Result<(), ReconcileError> {
    let machines: Api<Machine> = Api::namespaced(controller.base.client(), &observed.namespace);
    let machine = desired_machine(observed, name);
    controller
        .in_flight()
        .making(&observed.uid, machine.clone(), clock::now());
    let made = machines.create(&PostParams::default(), &machine).await;
    match &made {
        Ok(machine) => {
            controller
                .in_flight()
                .found(&observed.uid, machine.clone(), clock::now());
            controller.base.engine.learn(machine);
        }
        Err(error) if is_refusal(error) => controller.in_flight().settled(&observed.uid, name),
        Err(_) => {}
    }
    made.map(drop)
        .map_err(ReconcileError::api(format!("create Machine {name}")))
}

async fn delete(
    controller: &MachineSets,
    observed: &Observed,
    (name, uid): (&str, &str),
) -> Result<(), ReconcileError> {
    if is_void(controller, observed, uid) {
        return Err(ReconcileError::Conflict {
            what: format!("delete Machine {name}"),
        });
    }
    let machines: Api<Machine> = Api::namespaced(controller.base.client(), &observed.namespace);
    let only = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(only),
        ..DeleteParams::background()
    };
    controller
        .in_flight()
        .deleting(&observed.uid, (name, uid), clock::now());
    let result = machines.delete(name, &params).await;
    if let Some(machine) = result
        .as_ref()
        .ok()
        .and_then(|answer| answer.as_ref().left())
    {
        controller.base.engine.learn(machine);
    }
    let mut result = result.map(drop);
    if matches!(&result, Err(kube::Error::Api(status)) if status.code == 404) {
        result = Ok(());
    }
    if result.as_ref().is_err_and(is_refusal) {
        controller.in_flight().kept(&observed.uid, uid);
    }
    result.map_err(ReconcileError::api(format!("delete Machine {name}")))
}

/// The set to which a Machine moves, by the watch's cache: it was made, and asked for the Machine, before this one was to give
/// it up.
fn destination(
    controller: &MachineSets,
    observed: &Observed,
    (name, uid): (&str, &str),
    to: &str,
) -> Result<Observed, ReconcileError> {
    let what = || format!("move Machine {name}");
    let sets = &controller.base.stores().machine_sets;
    let set = sets.by_uid(to);
    let set = set.filter(|set| set.metadata.deletion_timestamp.is_none());
    let both = set.zip(sets.by_uid(&observed.uid));
    let Some((set, own)) = both.filter(|_| !is_void(controller, observed, uid)) else {
        return Err(ReconcileError::Conflict { what: what() });
    };
    if !may_move(&own.metadata, &set.metadata) {
        let why = format!(
            "annotation {ANNOTATION_MOVES_TO} of MachineSet {} names MachineSet {}, which is not of the same MachineDeployment; remove the annotation",
            observed.name,
            set.name_any()
        );
        return Err(ReconcileError::other(what(), why));
    }
    around(controller, &set, Vec::new(), clock::now())
}

/// Whether a decision to delete a Machine is no longer valid, by the watch's cache: a pass deletes for seconds, and
/// meanwhile the set may have been scaled or paused, or the Machine given to another owner.
fn is_void(controller: &MachineSets, observed: &Observed, uid: &str) -> bool {
    let stores = controller.base.stores();
    let set = stores.machine_sets.by_uid(&observed.uid);
    let machine = stores.machines.by_uid(uid);
    set.is_some_and(|set| {
        set.spec.replicas != observed.replicas || paused::paused_by(stores, set.as_ref()).is_some()
    }) || machine.is_some_and(|machine| Owner::of(&machine.metadata, &observed.uid) == Owner::Other)
}

/// Whether an error proves that nothing was changed. Not so with 409: the taken name may be that of our own Machine,
/// whose create response was lost. The error of a proxy has no code.
fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 409)
}

async fn write(
    controller: &MachineSets,
    observed: &Observed,
    name: &str,
    uid: &str,
    change: impl Fn(&Machine) -> Value,
) -> Result<(), ReconcileError> {
    let Some(machine) = controller
        .base
        .stores()
        .machines
        .get(&observed.namespace, name)
    else {
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
    patch::swap(&controller.base.engine, machine.as_ref(), part, change)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_says_that_nothing_was_done_is_a_refusal() {
        for (code, expected) in [
            (400, true),
            (403, true),
            (422, true),
            (429, true),
            // the name may be that of a Machine whose create response was lost
            (409, false),
            // the error page of a proxy
            (0, false),
            (500, false),
            (504, false),
        ] {
            let status = kube::core::Status {
                code,
                ..kube::core::Status::default()
            };
            let error = kube::Error::Api(Box::new(status));
            assert_eq!(is_refusal(&error), expected, "{code}");
        }
    }
}
