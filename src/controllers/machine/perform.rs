//! Does what a plan says. No choices are left here; every action may be done again.

use kube::ResourceExt;
use serde_json::json;

use super::{nodes, turn, units};
use crate::api::Machine;
use crate::api::cluster::TurnAction;
use crate::api::conditions::{ConditionType, Finding};
use crate::api::names::{ANNOTATION_SETTINGS, FINALIZER_MACHINE, LABEL_CONTROL_PLANE};
use crate::core::finalizers;
use crate::core::machine::plan::Action;
use crate::core::machine::plan::claim::chosen;
use crate::core::machine::{Contact, Held, Observed, Placement, settings};
use crate::core::node::{self, JobKind, Observation, Take, UnitState};
use crate::core::proof::Over;
use crate::engine::{Done, ReconcileError, patch};
use crate::manager::Context;
use crate::providers::{Server, basis};

/// Does one action.
pub async fn perform(
    context: &Context,
    observed: &Observed,
    action: &Action,
) -> Result<Done, ReconcileError> {
    let provider = context.providers.of(observed);
    match action {
        Action::Adopt { host } => adopt(context, observed, host.as_deref()).await,
        Action::Acquire(step) => provider.acquire(observed, step).await,
        Action::Power(power) => provider.power(observed, *power).await,
        Action::TakeHost => take_host(context, observed).await,
        Action::RunJob(kind) => run_job(context, observed, *kind).await,
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
        Action::Release(how) => provider.release(observed, *how).await,
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

async fn adopt(
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

async fn take_host(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    let server = context.providers.of(observed).server(observed)?;
    let take = node::take_host(&observed.marker);
    let answer = match context.hosts.run(server.as_ref(), take).await {
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

async fn run_job(
    context: &Context,
    observed: &Observed,
    name: JobKind,
) -> Result<Done, ReconcileError> {
    let server = context.providers.of(observed).server(observed)?;
    if is_running(observed, name) {
        follow(
            context,
            observed,
            server.as_ref(),
            name,
            node::follow(&observed.marker.job(name)),
        )
        .await
    } else {
        start(context, observed, server.as_ref(), name).await
    }
}

fn is_running(observed: &Observed, unit: JobKind) -> bool {
    seen(observed)
        .and_then(|seen| seen.job(&observed.marker.job(unit)))
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
    server: &dyn Server,
    name: JobKind,
) -> Result<Done, ReconcileError> {
    let owner = observed.owner();
    // on a host that says so itself kubeadm is not run again, only what comes after it
    let is_node = owner.is_some_and(|owner| owner.initialized || owner.joined);
    if name == JobKind::Init
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
    follow(context, observed, server, name, script).await
}

/// Writes down what the node is about to be made with.
async fn record_settings(
    context: &Context,
    observed: &Observed,
    name: JobKind,
) -> Result<(), ReconcileError> {
    let cluster = observed.cluster.as_ref();
    let (JobKind::Init | JobKind::Join, Some(cluster)) = (name, cluster) else {
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
    server: &dyn Server,
    name: JobKind,
    script: Result<node::Script, node::RenderError>,
) -> Result<Done, ReconcileError> {
    let script = script
        .map_err(|error| ReconcileError::other(format!("render unit {}", name.as_str()), error))?;
    let session = match context.hosts.session(server).await {
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
    let (hosts, host) = (context.wakers.hosts.clone(), server.host());
    let wake = Box::new(move || {
        waker.wake(&namespace, &machine);
        if let Some(host) = &host {
            hosts.wake(&namespace, host);
        }
    });
    let job = observed.marker.job(name);
    let failed = seen(observed).and_then(|seen| seen.failure(&job)).cloned();
    context.follows.start(job, failed, (session, script), wake);
    Ok(Done::Yes)
}

pub(super) fn wake_again(context: &Context, observed: &Observed) {
    context
        .wakers
        .machines
        .wake(&observed.marker.namespace, &observed.marker.machine);
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
