//! Performs the actions of a plan. What is read live before decides nothing here: see
//! [`tatara_core::machine::live`]. Every action is idempotent.

use kube::{Api, ResourceExt};
use serde_json::json;

use super::{Machines, etcd, nodes, record, settings, turn, units};
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::providers::Server;
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::names::{FINALIZER_MACHINE, LABEL_CONTROL_PLANE};
use tatara_core::api::{Cluster, Machine};
use tatara_core::finalizers;
use tatara_core::machine::Observed;
use tatara_core::machine::live::claim::machine_basis;
use tatara_core::machine::live::{self, Check};
use tatara_core::machine::plan::Action;
use tatara_core::machine::plan::claim::chosen;
use tatara_core::machine::units::{addons, archives, kubelet, upgrade};
use tatara_core::node::{self, Job, JobKind, Take, Unit, UnitStatus};
use tatara_core::proof::Over;

/// Performs one action.
///
/// # Errors
/// `ReconcileError::Conflict` when an object was modified concurrently, `NotLeading` without
/// leadership, `Api` when the API server fails, `Other` when a proof is missing or the workload
/// cluster fails.
pub async fn perform(
    controller: &Machines,
    observed: &Observed,
    action: &Action,
) -> Result<ActionOutcome, ReconcileError> {
    let provider = controller.providers.of(observed);
    match action {
        Action::Adopt { host } => adopt(controller, observed, host.as_deref()).await,
        Action::Acquire(step) => provider.acquire(observed, step).await,
        Action::Power(power) => provider.power(observed, *power).await,
        Action::TakeHost => take_host(controller, observed).await,
        Action::RunJob(kind) => run_job(controller, observed, *kind).await,
        Action::GiveAddress => give_address(controller, observed).await,
        Action::TakeTurn => Ok(not_yet(turn::take(&controller.turns, observed).await?)),
        Action::AwaitRecord => etcd::await_record(controller, observed).await,
        Action::RemoveMember(member) => etcd::remove(controller, observed, member).await,
        Action::AwaitComponents => etcd::await_components(controller, observed).await,
        Action::ReturnTurn(over) => etcd::return_turn(controller, observed, over).await,
        Action::EndAddons(version) => record::end_addons(controller, observed, version).await,
        Action::RecordSettings { record, begins } => {
            let waits = begins.then(|| settings::may_begin(controller, observed));
            if let Some(finding) = waits.flatten() {
                return Ok(ActionOutcome::NotYet(finding));
            }
            settings::write(controller, observed, record).await
        }
        Action::RecordInitialized => Ok(not_yet(
            turn::record_initialized(&controller.turns, observed).await?,
        )),
        Action::UpdateNode { node, uid } => {
            nodes::update_node(controller, observed, node, uid).await
        }
        Action::Drain { node, uid } => nodes::drain(controller, observed, node, uid).await,
        Action::AwaitHooks(finding) => Ok(ActionOutcome::NotYet(finding.clone())),
        Action::UncordonNode { node, uid } => {
            Ok(nodes::uncordon(controller, observed, node, uid).await)
        }
        Action::AwaitVolumes { node } => nodes::await_volumes(controller, observed, node).await,
        Action::Release(how) => match etcd::may_release(controller, observed).await? {
            Some(finding) => Ok(ActionOutcome::NotYet(finding)),
            None => provider.release(observed, *how).await,
        },
        Action::RemoveToken => {
            units::remove_token(controller, observed).await;
            Ok(ActionOutcome::Yes)
        }
        Action::DeleteNode { node, uid, over } => {
            nodes::delete_node(controller, observed, node, uid, over).await
        }
        Action::DeleteLeftNode { node, uid } => {
            nodes::delete_left_node(controller, observed, node, uid).await
        }
        Action::RemoveFinalizer(over) => remove_finalizer(controller, observed, over).await,
    }
}

/// Done, unless a finding says why not yet.
pub(super) fn not_yet(finding: Option<Finding>) -> ActionOutcome {
    finding.map_or(ActionOutcome::Yes, ActionOutcome::NotYet)
}

async fn adopt(
    controller: &Machines,
    observed: &Observed,
    host: Option<&str>,
) -> Result<ActionOutcome, ReconcileError> {
    let machine = observed.machine.as_ref();
    if observed.spec.is_err() {
        return Ok(ActionOutcome::Yes);
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
    patch::swap(&controller.base.engine, machine, machine_basis, change)
        .await
        .map(|_| ActionOutcome::Yes)
}

async fn take_host(
    controller: &Machines,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    let server = controller.providers.of(observed).server(observed)?;
    let take = node::take_host(&observed.marker);
    let answer = match controller.hosts.run(server.as_ref(), take).await {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(ActionOutcome::NotYet(Finding::no(
                ConditionType::InfrastructureReady,
                error.reason,
                error.message,
            )));
        }
    };
    match node::parse_take(&answer).map_err(|error| ReconcileError::other("take a host", error))? {
        // if another Machine took the host first, the next pass reports it
        Take::Taken | Take::AlreadyOurs | Take::OwnedBy(_) | Take::Occupied(_) => {
            wake_again(controller, observed);
            Ok(ActionOutcome::Yes)
        }
    }
}

async fn run_job(
    controller: &Machines,
    observed: &Observed,
    name: JobKind,
) -> Result<ActionOutcome, ReconcileError> {
    let server = controller.providers.of(observed).server(observed)?;
    if is_running(observed, name) {
        follow(controller, observed, server.as_ref(), (name, None), |_| {
            node::follow(&observed.marker.job(name))
        })
        .await
    } else {
        start(controller, observed, server.as_ref(), name).await
    }
}

fn is_running(observed: &Observed, unit: JobKind) -> bool {
    let seen = observed.seen();
    seen.is_some_and(|seen| seen.runs(&observed.marker.job(unit)))
}

async fn start(
    controller: &Machines,
    observed: &Observed,
    server: &dyn Server,
    name: JobKind,
) -> Result<ActionOutcome, ReconcileError> {
    let waits = match live::check(observed, name) {
        Check::None => None,
        Check::Init => turn::take(&controller.turns, observed).await?,
        Check::Join => etcd::may_join(controller, observed).await?,
        Check::Record => record::fits(controller, observed, name).await?,
        Check::Update => etcd::may_upgrade(controller, observed, name).await?,
    };
    if let Some(finding) = waits {
        return Ok(ActionOutcome::NotYet(finding));
    }
    let unit = match units::build(controller, observed, name).await? {
        Ok(unit) => unit,
        Err(finding) => return Ok(ActionOutcome::NotYet(live::about(name, finding))),
    };
    if live::records_settings(observed) {
        settings::before(controller, observed, name).await?;
    }
    launch(controller, observed, server, &unit).await
}

/// Its step checks, just before and just after, that an API server of another control plane
/// answers, and holds the address.
async fn give_address(
    controller: &Machines,
    observed: &Observed,
) -> Result<ActionOutcome, ReconcileError> {
    if is_running(observed, JobKind::Address) {
        return run_job(controller, observed, JobKind::Address).await;
    }
    let unit = node::give_address()
        .render()
        .map_err(|error| ReconcileError::other("render a unit", error))?;
    let server = controller.providers.of(observed).server(observed)?;
    launch(controller, observed, server.as_ref(), &unit).await
}

async fn launch(
    controller: &Machines,
    observed: &Observed,
    server: &dyn Server,
    unit: &Unit,
) -> Result<ActionOutcome, ReconcileError> {
    let (name, now) = (unit.kind, crate::clock::now());
    // the plan asks for it although it succeeded: what it installed is not there any more
    let job = observed
        .seen()
        .and_then(|seen| seen.job(&observed.marker.job(name)));
    let is_afresh = job.is_some_and(UnitStatus::has_succeeded);
    let script = |epoch| {
        if is_afresh {
            node::start_afresh(&observed.marker, unit, epoch, now)
        } else {
            node::start_and_follow(&observed.marker, unit, epoch, now)
        }
    };
    follow(controller, observed, server, (name, Some(unit)), script).await
}

async fn follow(
    controller: &Machines,
    observed: &Observed,
    server: &dyn Server,
    (name, started): (JobKind, Option<&Unit>),
    script: impl FnOnce(i64) -> Result<node::Script, node::RenderError>,
) -> Result<ActionOutcome, ReconcileError> {
    let session = match controller.hosts.session(server).await {
        Ok(session) => session,
        Err(error) => {
            let infrastructure = ConditionType::InfrastructureReady;
            let finding = Finding::no(infrastructure, error.reason, error.message);
            return Ok(ActionOutcome::NotYet(live::about(name, finding)));
        }
    };
    let script = script(controller.hosts.epoch(&session))
        .map_err(|error| ReconcileError::other(format!("render unit {}", name.as_str()), error))?;
    let (waker, namespace, machine) = (
        controller.base.wakers.machines.clone(),
        observed.marker.namespace.clone(),
        observed.marker.machine.clone(),
    );
    // a host that was released meanwhile is reset after the unit has ended
    let (hosts, host) = (controller.base.wakers.hosts.clone(), server.host());
    let wake = Box::new(move || {
        waker.wake(&namespace, &machine);
        if let Some(host) = &host {
            hosts.wake(&namespace, host);
        }
    });
    let job = observed.marker.job(name);
    let failed = observed.seen().and_then(|seen| seen.failure(&job));
    let failed = failed
        .filter(|_| !is_other(observed, &job, started))
        .cloned();
    controller
        .follows
        .start(job, failed, (session, script), wake);
    Ok(ActionOutcome::Yes)
}

/// Whether what the host shows of an update is of another version, or of another unit of its kind:
/// its failure is none of the one that is started.
fn is_other(observed: &Observed, job: &Job, started: Option<&Unit>) -> bool {
    let identity = match job.kind {
        JobKind::Address => started.map(Unit::identity),
        JobKind::Images => archives(observed).ok().flatten().map(|u| u.identity),
        JobKind::Upgrade => upgrade(observed).ok().map(|unit| unit.identity),
        JobKind::Kubelet => kubelet(observed).ok().map(|unit| unit.identity),
        JobKind::Addons => addons(observed).ok().map(|unit| unit.identity),
        _ => None,
    };
    let status = observed.seen().and_then(|seen| seen.job(job));
    let shown = status.map(|status| &status.identity);
    identity.is_some_and(|identity| shown.is_some_and(|shown| *shown != identity))
}

pub(super) fn wake_again(controller: &Machines, observed: &Observed) {
    controller
        .base
        .wakers
        .machines
        .wake(&observed.marker.namespace, &observed.marker.machine);
}

async fn remove_finalizer(
    controller: &Machines,
    observed: &Observed,
    over: &Over,
) -> Result<ActionOutcome, ReconcileError> {
    let machine = observed.machine.as_ref();
    must_be_about(observed, over.is_about(observed.uid()))?;
    if let Some(finding) = waits_for_cluster(controller, observed).await? {
        return Ok(ActionOutcome::NotYet(finding));
    }
    patch::remove_finalizer(&controller.base.engine, machine, FINALIZER_MACHINE).await?;
    controller.forget(observed.uid());
    Ok(ActionOutcome::Yes)
}

/// What a Machine waits for whose Cluster the store does not have, and the API server does.
async fn waits_for_cluster(
    controller: &Machines,
    observed: &Observed,
) -> Result<Option<Finding>, ReconcileError> {
    let Some(name) = live::end::unseen_cluster(observed) else {
        return Ok(None);
    };
    let client = controller.base.engine.client.clone();
    let clusters: Api<Cluster> = Api::namespaced(client, &observed.marker.namespace);
    let read = clusters.get_opt(name).await;
    let cluster = read.map_err(ReconcileError::api(format!("read Cluster {name}")))?;
    Ok(live::end::waits(cluster.as_ref()))
}

/// Requires that a proof is about this Machine.
///
/// # Errors
/// `ReconcileError::Other` when it is about another one.
pub(super) fn must_be_about(observed: &Observed, is_about: bool) -> Result<(), ReconcileError> {
    if is_about {
        return Ok(());
    }
    let what = format!("end Machine {}", observed.machine.name_any());
    Err(ReconcileError::other(what, "the proof is about another"))
}
