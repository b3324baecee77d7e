//! Does what a plan says. No choices are left here; every action may be done again.

use std::sync::PoisonError;

use kube::ResourceExt;
use serde_json::json;

use super::observed::{Contact, Held, Observed, PendingClaim, Placement};
use super::plan::{Action, Plan};
use super::site::{Site, host, site};
use super::{nodes, settings, turn, units, virtual_machine};
use crate::api::conditions::{self, Finding};
use crate::api::names::{
    ANNOTATION_PAUSED, ANNOTATION_SETTINGS, FINALIZER_IN_USE, FINALIZER_MACHINE,
    LABEL_CONTROL_PLANE, provider_id,
};
use crate::api::{Host, Machine, MachineProviderSpec};
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;
use crate::node::{self, Take, UnitName, UnitState};

/// What an action came to.
pub(super) enum Done {
    /// It is done; the next may follow.
    Yes,
    /// It has to be waited for: no further action.
    NotYet(Finding),
}

/// Does the plan's actions in order. Stops at the first that has to be waited for, and returns what
/// was found.
pub async fn execute(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
) -> Result<Vec<Finding>, ReconcileError> {
    for action in &plan.actions {
        context.must_lead()?;
        if let Done::NotYet(finding) = perform(context, observed, action).await? {
            return Ok(vec![finding]);
        }
    }
    Ok(Vec::new())
}

async fn perform(
    context: &Context,
    observed: &Observed,
    action: &Action,
) -> Result<Done, ReconcileError> {
    match action {
        Action::Adopt => adopt(context, observed).await,
        Action::Acquire { host } => acquire(context, observed, host).await,
        Action::FetchImage => virtual_machine::fetch_image(context, observed).await,
        Action::CreateMachine => virtual_machine::create(context, observed).await,
        Action::SwitchOn => virtual_machine::switch(context, observed, "on").await,
        Action::Resume => virtual_machine::switch(context, observed, "resume").await,
        Action::RemoveSeed => virtual_machine::remove_seed(context, observed).await,
        Action::TakeHost => take_host(context, observed).await,
        Action::RunUnit(unit) => run_unit(context, observed, *unit).await,
        Action::TakeTurn(action) => {
            let doubt = turn::take(context, observed, *action).await?;
            Ok(doubt.map_or(Done::Yes, Done::NotYet))
        }
        Action::ReturnTurn => turn::give_back(context, &observed.marker)
            .await
            .map(|()| Done::Yes),
        Action::RecordInitialized => turn::record_initialized(context, observed)
            .await
            .map(|()| Done::Yes),
        Action::UpdateNode { node, uid } => nodes::update_node(context, observed, node, uid).await,
        Action::Drain { node, uid } => nodes::drain(context, observed, node, uid).await,
        Action::AwaitVolumes { node } => nodes::await_volumes(context, observed, node).await,
        Action::Release => release(context, observed).await,
        Action::RemoveToken => {
            units::remove_token(context, observed).await;
            Ok(Done::Yes)
        }
        Action::DeleteNode { node, uid } => nodes::delete_node(context, observed, node, uid).await,
        Action::RemoveFinalizer => remove_finalizer(context, observed).await,
    }
}

async fn adopt(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    let machine = observed.machine.as_ref();
    let Ok(spec) = &observed.spec else {
        return Ok(Done::Yes);
    };
    let id = provider_id(spec.provider(), observed.uid());
    let change = |machine: &Machine| {
        let mut change = json!({
            "metadata": { "finalizers": patch::with_finalizer(machine, FINALIZER_MACHINE) },
            "spec": { "providerID": machine.spec.provider_id.as_ref().unwrap_or(&id) },
        });
        if machine.spec.provider_spec.value.is_none() {
            change["spec"]["providerSpec"] = json!({ "value": observed.resolved });
        }
        if machine.is_control_plane() {
            change["metadata"]["labels"] = json!({ (LABEL_CONTROL_PLANE): "true" });
        }
        change
    };
    let part = |machine: &Machine| {
        (
            machine.spec.clone(),
            machine.metadata.deletion_timestamp.clone(),
        )
    };
    patch::swap(&context.client, machine, part, change)
        .await
        .map(|_| Done::Yes)
}

/// Claims a host by compare-and-swap. The claim is remembered until the store shows it, so that a
/// stale store never makes a Machine take a second host.
async fn acquire(
    context: &Context,
    observed: &Observed,
    name: &str,
) -> Result<Done, ReconcileError> {
    if let Ok(MachineProviderSpec::Simulated(spec)) = &observed.spec {
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
    let change = |host: &Host| {
        json!({
            "metadata": { "finalizers": patch::with_finalizer(host, FINALIZER_IN_USE) },
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
        let is_available = status.is_some_and(|s| conditions::is_true(&s.conditions, "Available"));
        let deleted = host.metadata.deletion_timestamp.clone();
        let is_paused = host.annotations().contains_key(ANNOTATION_PAUSED);
        (host.spec.clone(), deleted, is_available, is_paused)
    };
    let claimed = patch::swap(&context.client, host.as_ref(), part, change).await?;
    let claim = PendingClaim {
        host: name.to_owned(),
        generation: claimed.metadata.generation,
    };
    claims(context).insert(observed.uid().to_owned(), claim);
    Ok(Done::Yes)
}

fn claims(
    context: &Context,
) -> std::sync::MutexGuard<'_, std::collections::HashMap<String, PendingClaim>> {
    context
        .claims
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
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
                "InfrastructureReady",
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
    let Placement::Held(Held {
        contact: Contact::Seen(seen),
        ..
    }) = &observed.placement
    else {
        return false;
    };
    seen.unit(observed.uid(), unit)
        .is_some_and(|status| matches!(status.state, UnitState::Running(_)))
}

async fn start(
    context: &Context,
    observed: &Observed,
    site: &Site,
    name: UnitName,
) -> Result<Done, ReconcileError> {
    if name == UnitName::Init {
        turn::must_have_init(context, observed).await?;
    }
    let unit = match units::build(context, observed, name).await? {
        Ok(unit) => unit,
        Err(finding) => return Ok(Done::NotYet(finding)),
    };
    record_settings(context, observed, name).await?;
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
    patch::write(&context.client, machine, change)
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
                "InfrastructureReady",
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
    context
        .follows
        .start(observed.uid(), name, session, script, wake);
    Ok(Done::Yes)
}

fn host_name(site: &Site) -> Option<String> {
    match site {
        Site::Host(host) => Some(host.name_any()),
        Site::Guest(_) => None,
    }
}

fn wake_again(context: &Context, observed: &Observed) {
    context
        .wakers
        .machines
        .wake(&observed.marker.namespace, &observed.marker.machine);
}

async fn release(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    if let Ok(MachineProviderSpec::Simulated(spec)) = &observed.spec {
        context.simulated.release(observed, spec);
        return Ok(Done::Yes);
    }
    if observed.virtual_machine.is_some() {
        return virtual_machine::release(context, observed).await;
    }
    let host = host(context, observed)?;
    patch::swap(
        &context.client,
        host.as_ref(),
        |host| host.spec.consumer_ref.clone(),
        |_| json!({ "spec": { "consumerRef": { "releasing": true } } }),
    )
    .await?;
    Ok(Done::Yes)
}

async fn remove_finalizer(context: &Context, observed: &Observed) -> Result<Done, ReconcileError> {
    let machine = observed.machine.as_ref();
    patch::remove_finalizer(&context.client, machine, FINALIZER_MACHINE).await?;
    context.follows.forget(observed.uid());
    context.metrics.gone(observed.uid());
    claims(context).remove(observed.uid());
    context.reservations.forget(observed.uid());
    context.tries.forget(observed.uid());
    Ok(Done::Yes)
}
