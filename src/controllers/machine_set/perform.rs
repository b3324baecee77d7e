//! Performs the actions of a plan.

use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::MachineSets;
use super::observe::around;
use crate::clock;
use crate::controllers::paused;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use tatara_core::api::{Machine, MachineSet};
use tatara_core::machine_set::Observed;
use tatara_core::machine_set::live::{self, Now, Stays};
use tatara_core::machine_set::plan::{
    Action, InPlace, controller_reference, desired_machine, moved,
};

/// Performs one action. If a name is taken, the other Machines are still created; the next pass
/// chooses another name.
///
/// # Errors
/// `ReconcileError::Conflict` when a Machine was modified concurrently, `NotLeading` without
/// leadership, `Api` when the API server fails.
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
    let may_go = with_now(controller, observed, uid, |now| live::may_go(observed, now));
    if !may_go {
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

/// The set to which a Machine moves, by the watch's cache.
fn destination(
    controller: &MachineSets,
    observed: &Observed,
    (name, uid): (&str, &str),
    to: &str,
) -> Result<Observed, ReconcileError> {
    let what = || format!("move Machine {name}");
    let to = controller.base.stores().machine_sets.by_uid(to);
    let set = with_now(controller, observed, uid, |now| {
        live::destination(observed, now, to.as_deref())
    });
    match set {
        Ok(set) => around(controller, set, Vec::new(), clock::now()),
        Err(Stays::Changed) => Err(ReconcileError::Conflict { what: what() }),
        Err(Stays::Foreign(why)) => Err(ReconcileError::other(what(), why)),
    }
}

/// What the watch shows now of the set and of one of its Machines.
fn with_now<T>(
    controller: &MachineSets,
    observed: &Observed,
    uid: &str,
    judge: impl FnOnce(Now<'_>) -> T,
) -> T {
    let stores = controller.base.stores();
    let set = stores.machine_sets.by_uid(&observed.uid);
    let machine = stores.machines.by_uid(uid);
    let is_paused = |set: &MachineSet| paused::paused_by(stores, set).is_some();
    judge(Now {
        is_paused: set.as_deref().is_some_and(is_paused),
        set: set.as_deref(),
        machine: machine.as_deref(),
    })
}

/// Whether an error proves that nothing was changed. Not so with 409: the taken name may be that of
/// our own Machine, whose create response was lost. The error of a proxy has no code.
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
    patch::swap(
        &controller.base.engine,
        machine.as_ref(),
        live::basis,
        change,
    )
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
