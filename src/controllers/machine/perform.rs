//! Does what a plan says. No choices are left here; every action may be done again.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::site::{Site, host, site};
use super::{acquire, nodes, turn, units, virtual_machine};
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding};
use crate::api::names::{ANNOTATION_SETTINGS, FINALIZER_MACHINE};
use crate::api::{Host, MachineProviderSpec, SimulatedMachineProviderSpec};
use crate::core::claim;
use crate::core::machine::kind::PlaceKind;
use crate::core::machine::plan::Action;
use crate::core::machine::{Contact, Held, Observed, Placement, settings};
use crate::core::node::{self, Marker, Observation, Take, UnitName, UnitState};
use crate::core::proof::Over;
use crate::core::wire::PowerAction;
use crate::engine::{Done, ReconcileError, patch};
use crate::manager::Context;

/// Does one action.
pub async fn perform(
    context: &Context,
    observed: &Observed,
    action: &Action,
) -> Result<Done, ReconcileError> {
    match action {
        Action::Adopt { host } => acquire::adopt(context, observed, host.as_deref()).await,
        Action::Acquire { host, instead } => {
            acquire::acquire(context, observed, host, instead.as_ref()).await
        }
        Action::LeaveHypervisor => virtual_machine::leave(context, observed).await,
        Action::FetchImage => virtual_machine::fetch_image(context, observed).await,
        Action::CreateMachine => virtual_machine::create(context, observed).await,
        Action::SwitchOn => virtual_machine::switch(context, observed, PowerAction::On).await,
        Action::Resume => virtual_machine::switch(context, observed, PowerAction::Resume).await,
        Action::RecordHypervisor => virtual_machine::record(context, observed).await,
        Action::RemoveSeed => virtual_machine::remove_seed(context, observed).await,
        Action::TakeHost => take_host(context, observed).await,
        Action::RunUnit(unit) => run_unit(context, observed, *unit).await,
        Action::TakeTurn(action) => {
            let doubt = turn::take(context, observed, *action).await?;
            Ok(doubt.map_or(Done::Yes, Done::NotYet))
        }
        Action::ReturnTurn(over) => turn::give_back(context, &observed.marker, over)
            .await
            .map(|()| Done::Yes),
        Action::RecordInitialized => {
            let doubt = turn::record_initialized(context, observed).await?;
            Ok(doubt.map_or(Done::Yes, Done::NotYet))
        }
        Action::UpdateNode { node, uid } => nodes::update_node(context, observed, node, uid).await,
        Action::Drain { node, uid } => nodes::drain(context, observed, node, uid).await,
        Action::AwaitVolumes { node } => nodes::await_volumes(context, observed, node).await,
        Action::GiveUp => virtual_machine::give_up(context, observed).await,
        Action::Release => release(context, observed).await,
        Action::RemoveToken => {
            units::remove_token(context, observed).await;
            Ok(Done::Yes)
        }
        Action::DeleteNode { node, uid, over } => {
            nodes::delete_node(context, observed, node, uid, over).await
        }
        Action::DeleteLeftNode { node, uid } => {
            nodes::delete_left_node(context, observed, node, uid).await
        }
        Action::RemoveFinalizer(over) => remove_finalizer(context, observed, over).await,
    }
}

async fn take_host(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    let site = site(context, observed)?;
    let answer = match site
        .run(&context.hosts, node::take_host(&observed.marker))
        .await
    {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(Done::NotYet(Finding::no(
                ConditionType::InfrastructureReady,
                error.reason,
                error.message,
            )));
        }
    };
    match node::parse_take(&answer).map_err(|error| ReconcileError::other("take a host", error))? {
        // where somebody was faster, the next pass sees whose it is, and says so
        Take::Taken | Take::AlreadyOurs | Take::OwnedBy(_) | Take::Occupied(_) => {
            wake_again(context, observed);
            Ok(Done::Yes)
        }
    }
}

async fn run_unit(
    context: &Context,
    observed: &Observed,
    name: UnitName,
) -> Result<Done, ReconcileError> {
    let site = site(context, observed)?;
    if is_running(observed, name) {
        follow(
            context,
            observed,
            &site,
            name,
            node::follow(&observed.marker, name),
        )
        .await
    } else {
        start(context, observed, &site, name).await
    }
}

fn is_running(observed: &Observed, unit: UnitName) -> bool {
    seen(observed)
        .and_then(|seen| seen.unit(observed.uid(), unit))
        .is_some_and(|status| matches!(status.state, UnitState::Running(_)))
}

/// What its host said in this pass.
fn seen(observed: &Observed) -> Option<&Observation> {
    match &observed.placement {
        Placement::Held(Held {
            contact: Contact::Seen(seen),
            ..
        }) => Some(seen),
        _ => None,
    }
}

async fn start(
    context: &Context,
    observed: &Observed,
    site: &Site,
    name: UnitName,
) -> Result<Done, ReconcileError> {
    let owner = observed.owner();
    // on a host that says so itself kubeadm is not run again, only what comes after it
    let is_node = owner.is_some_and(|owner| owner.initialized || owner.joined);
    if name == UnitName::Init
        && !is_node
        && let Some(doubt) = turn::take(context, observed, TurnAction::Init).await?
    {
        return Ok(Done::NotYet(doubt));
    }
    let unit = match units::build(context, observed, name).await? {
        Ok(unit) => unit,
        Err(finding) => return Ok(Done::NotYet(finding)),
    };
    if !is_node {
        record_settings(context, observed, name).await?;
    }
    let script = node::start_and_follow(&observed.marker, &unit, crate::clock::now());
    follow(context, observed, site, name, script).await
}

/// Writes down what the node is about to be made with.
async fn record_settings(
    context: &Context,
    observed: &Observed,
    name: UnitName,
) -> Result<(), ReconcileError> {
    let cluster = observed.cluster.as_ref();
    let (UnitName::Init | UnitName::Join, Some(cluster)) = (name, cluster) else {
        return Ok(());
    };
    let Ok(spec) = &cluster.spec else {
        return Ok(());
    };
    let machines = &context.stores.machines;
    let initializer = cluster
        .initialized_by
        .as_deref()
        .and_then(|uid| machines.by_uid(uid));
    let settings = settings::of(spec, name, initializer.as_deref()).to_string();
    let machine = observed.machine.as_ref();
    if machine.annotations().get(ANNOTATION_SETTINGS) == Some(&settings) {
        return Ok(());
    }
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): settings } } });
    patch::write(&context.engine, machine, change)
        .await
        .map(drop)
}

async fn follow(
    context: &Context,
    observed: &Observed,
    site: &Site,
    name: UnitName,
    script: Result<node::Script, node::RenderError>,
) -> Result<Done, ReconcileError> {
    let script = script
        .map_err(|error| ReconcileError::other(format!("render unit {}", name.as_str()), error))?;
    let session = match site.session(&context.hosts).await {
        Ok(session) => session,
        Err(error) => {
            return Ok(Done::NotYet(Finding::no(
                ConditionType::InfrastructureReady,
                error.reason,
                error.message,
            )));
        }
    };
    let (waker, namespace, machine) = (
        context.wakers.machines.clone(),
        observed.marker.namespace.clone(),
        observed.marker.machine.clone(),
    );
    // a host that was let go meanwhile is reset once the unit has ended
    let (hosts, host) = (context.wakers.hosts.clone(), host_name(site));
    let wake = Box::new(move || {
        waker.wake(&namespace, &machine);
        if let Some(host) = &host {
            hosts.wake(&namespace, host);
        }
    });
    let failed = seen(observed).and_then(|seen| seen.failure(observed.uid(), name));
    let failed = failed.cloned();
    context
        .follows
        .start(observed.uid(), name, failed, (session, script), wake);
    Ok(Done::Yes)
}

fn host_name(site: &Site) -> Option<String> {
    match site {
        Site::Host(host) => Some(host.name_any()),
        Site::Guest(_) => None,
    }
}

pub(super) fn wake_again(context: &Context, observed: &Observed) {
    context
        .wakers
        .machines
        .wake(&observed.marker.namespace, &observed.marker.machine);
}

async fn release(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    if observed.kind() == Ok(Some(PlaceKind::Simulation)) {
        let spec = match &observed.spec {
            Ok(MachineProviderSpec::Simulated(spec)) => spec.clone(),
            _ => SimulatedMachineProviderSpec::default(),
        };
        context.simulated.release(observed, &spec);
        return Ok(Done::Yes);
    }
    if observed.virtual_machine.is_some() {
        return virtual_machine::release(context, observed).await;
    }
    let host = host(context, observed)?;
    let change = release_claim(&host, &observed.marker)?;
    patch::swap(
        &context.engine,
        host.as_ref(),
        |host| host.spec.consumer_ref.clone(),
        |_| change.clone(),
    )
    .await?;
    Ok(Done::Yes)
}

/// What lets go of a Host. A drain takes its time, and the claim may be another Machine's since: that one is not touched.
fn release_claim(host: &Host, marker: &Marker) -> Result<Value, ReconcileError> {
    if claim::is_of(host, marker) {
        return Ok(json!({ "spec": { "consumerRef": { "releasing": true } } }));
    }
    Err(ReconcileError::Conflict {
        what: format!(
            "release Host {}, which Machine {} does not claim any more",
            host.name_any(),
            marker.machine
        ),
    })
}

async fn remove_finalizer(
    context: &Context,
    observed: &Observed,
    over: &Over,
) -> Result<Done, ReconcileError> {
    let machine = observed.machine.as_ref();
    must_be_about(observed, over.is_about(observed.uid()))?;
    patch::remove_finalizer(&context.engine, machine, FINALIZER_MACHINE).await?;
    context.forget_machine(observed.uid());
    Ok(Done::Yes)
}

/// Proof is about one Machine.
pub(super) fn must_be_about(observed: &Observed, is_about: bool) -> Result<(), ReconcileError> {
    if is_about {
        return Ok(());
    }
    let what = format!("end Machine {}", observed.machine.name_any());
    Err(ReconcileError::other(what, "the proof is about another"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_claim_of_the_machine_itself_is_let_go() {
        let me = Marker {
            namespace: "n".into(),
            machine: "m".into(),
            uid: "u1".into(),
            ..Marker::default()
        };
        let host = |claim: Value| {
            let manifest = json!({
                "apiVersion": "tatara.dev/v1alpha1",
                "kind": "Host",
                "metadata": { "namespace": "n", "name": "h" },
                "spec": { "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "key" } },
                    "consumerRef": claim },
            });
            serde_json::from_value::<Host>(manifest).expect("a Host")
        };
        let mine = host(json!({ "name": "m", "uid": "u1", "cluster": "a" }));
        let change = json!({ "spec": { "consumerRef": { "releasing": true } } });
        assert_eq!(release_claim(&mine, &me).ok(), Some(change));
        for claim in [
            json!({ "name": "m", "uid": "u2", "cluster": "a" }),
            json!({ "name": "other", "uid": "u1", "cluster": "a" }),
            Value::Null,
        ] {
            let refused = release_claim(&host(claim.clone()), &me);
            assert!(refused.is_err_and(|error| error.is_conflict()), "{claim}");
        }
    }
}
