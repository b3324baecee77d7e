//! Performs the actions of a plan. Every action is idempotent.

use serde_json::{Value, json};

use super::observe::is_marked;
use super::released::{must_be_released, must_go};
use super::switch::switch;
use super::{Hosts, guard};
use crate::controllers::machine::turn;
use crate::engine::{ActionOutcome, Chain, ReconcileError, patch};
use crate::providers::install;
use crate::workload;
use kube::{Api, ResourceExt};
use tatara_core::api::Host;
use tatara_core::api::names::{ANNOTATION_INSTALLATION, FINALIZER_IN_USE, provider_id};
use tatara_core::host::guard::marked;
use tatara_core::host::left::{LeftFacts, LeftNodes, left_node};
use tatara_core::host::plan::Action;
use tatara_core::host::released;
use tatara_core::host::switch::Switch;
use tatara_core::host::{Contact, Observed};
use tatara_core::machine::kind::PlaceKind;
use tatara_core::node::{self, JobKind, Marker, RenderError, Script};
use tatara_core::pace::SERVER;
use tatara_core::proof::{Clean, TurnIsOver};
use tatara_core::{claim, finalizers};

/// Performs one action.
///
/// # Errors
/// `ReconcileError::Conflict` when the Host, its claim or its Machine was modified concurrently,
/// `NotLeading` without leadership, `Api` when the API server fails, `Other` when a proof is
/// missing or a script cannot be rendered.
pub async fn perform(
    controller: &Hosts,
    observed: &Observed,
    action: &Action,
) -> Result<ActionOutcome, ReconcileError> {
    match action {
        Action::PinKeys(keys) => pin(controller, observed, keys).await?,
        Action::Reset(marker) => return reset(controller, observed, marker).await,
        Action::Hold => {
            patch::hold(&controller.base.engine, observed.host.as_ref(), true).await?;
        }
        Action::Free(clean) => free(controller, observed, clean).await?,
        Action::LetGo => let_go(controller, observed).await?,
        Action::LeaveTo(other) => leave_to(controller, observed, other).await?,
        Action::RecordInitialized(made) => turn::record_found(&controller.turns, made).await?,
        Action::SwitchOn => switch(controller, observed, Switch::On).await?,
        Action::SwitchOff => switch(controller, observed, Switch::Off).await?,
        Action::Fence => switch(controller, observed, Switch::Fence).await?,
        Action::StopKubelet(marker) => {
            must_be_released(controller, observed).await?;
            return Ok(run(controller, observed, node::retain(marker)).await);
        }
        Action::StopJobs(marker) => {
            must_be_released(controller, observed).await?;
            must_go(controller, &observed.host).await?;
            return Ok(run(controller, observed, node::stop(marker)).await);
        }
        Action::BeginInstallation => {
            let host = observed.host.as_ref();
            let host = (host, &observed.contact);
            guard::must_have_none(controller, host, "install the operating system").await?;
            install::begin(&controller.installs, observed).await?;
        }
        Action::OpenInstaller => install::open_again(&controller.installs, observed).await?,
        Action::BootInstaller => install::boot(&controller.installs, observed).await?,
        Action::BootInstalled => install::boot_installed(&controller.installs, observed).await?,
        Action::EndInstallation => {
            let free = async |clean: Option<&Clean>, key: &str| {
                free_installed(controller, observed, clean, key).await
            };
            install::end(&controller.installs, observed, free).await?;
        }
        Action::GiveUpInstallation(cause, why) => {
            install::give_up(&controller.installs, observed, *cause, why.clone()).await?;
        }
    }
    Ok(ActionOutcome::Yes)
}

async fn pin(
    controller: &Hosts,
    observed: &Observed,
    keys: &[String],
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let change = |_: &Host| json!({ "spec": { "ssh": { "hostKeys": keys } } });
    patch::swap(
        &controller.base.engine,
        host,
        |host| host.spec.ssh.clone(),
        change,
    )
    .await
    .map(drop)
}

async fn reset(
    controller: &Hosts,
    observed: &Observed,
    marker: &Marker,
) -> Result<ActionOutcome, ReconcileError> {
    must_be_released(controller, observed).await?;
    if guard::may_have_member(controller, observed.host.as_ref(), &observed.contact) {
        let host = (observed.host.as_ref(), &observed.contact);
        guard::must_have_none(controller, host, "the reset").await?;
    }
    let pod_cidrs = pod_cidrs(controller, marker);
    let Some((_, seen)) = marked(&observed.contact) else {
        return Ok(ActionOutcome::LookAgain(SERVER));
    };
    let unit = node::reset(&node::Reset {
        pod_cidrs: &pod_cidrs,
    })
    .render()
    .map_err(|error| ReconcileError::other("render the reset", error))?;
    // the release may have been reverted since
    let live = patch::live(&controller.base.engine, observed.host.as_ref()).await?;
    if !released::is_same(&observed.host, &live) {
        return Err(ReconcileError::Conflict {
            what: format!("reset Host {}", live.name_any()),
        });
    }
    // the next pass reports a host that does not answer
    let Ok(session) = controller.hosts.session(observed.host.as_ref()).await else {
        return Ok(ActionOutcome::LookAgain(SERVER));
    };
    let epoch = controller.hosts.epoch(&session);
    let script = node::start_decided(marker, &unit, seen, epoch, crate::clock::now())
        .map_err(|error| ReconcileError::other("render the reset", error))?;
    let (waker, host) = (controller.base.wakers.hosts.clone(), observed.host.clone());
    let wake = Box::new(move || waker.wake_object(&host));
    let job = marker.job(JobKind::Reset);
    let failed = match &observed.contact {
        Contact::Seen(seen) => seen.failure(&job).cloned(),
        _ => None,
    };
    controller
        .follows
        .start(job, failed, (session, script), wake);
    Ok(ActionOutcome::Yes)
}

/// The pod networks of the cluster that the host belonged to, if it still exists.
fn pod_cidrs(controller: &Hosts, marker: &Marker) -> Vec<String> {
    let cluster = controller
        .base
        .stores()
        .clusters
        .get(&marker.namespace, &marker.cluster);
    cluster
        .map(|cluster| cluster.spec.cluster_network.pods.cidr_blocks.clone())
        .unwrap_or_default()
}

/// Deletes the Node of a deleted Machine. The kubelet of a host that was powered on for its reset
/// may have registered the Node again; the reset has stopped it for good.
async fn delete_left_node(controller: &Hosts, owner: &Marker) -> Result<(), ReconcileError> {
    let stores = controller.base.stores();
    let has_machine = stores.machines.by_uid(&owner.uid).is_some();
    let cluster = stores.clusters.get(&owner.namespace, &owner.cluster);
    // after a restart, its kubeconfig may not be read yet
    let is_external = cluster.as_ref().is_some_and(|cluster| {
        let uid = cluster.uid().unwrap_or_default();
        controller.workloads.known.get(&uid).kubeconfig.external || cluster.was_external()
    });
    let workload = cluster
        .as_ref()
        .and_then(|cluster| controller.workloads.get(cluster));
    let id = provider_id(PlaceKind::Host.provider(), &owner.uid);
    let exceeds = workload.as_ref().is_some_and(|of| of.exceeds_a_limit());
    let nodes = workload.as_ref().map(|of| of.nodes_by_provider_id(&id));
    let facts = LeftFacts {
        has_machine,
        cluster: cluster.as_deref(),
        is_external,
        nodes: nodes.as_deref().map(|nodes| LeftNodes::of(nodes, exceeds)),
    };
    let left = left_node(facts);
    let left = left.map_err(|why| ReconcileError::other("delete the Node of the Host", why))?;
    let (Some(node), Some(workload)) = (left, &workload) else {
        return Ok(());
    };
    let deleted = workload::nodes::delete(workload.client(), &node.name, &node.uid).await;
    deleted
        .map(drop)
        .map_err(|error| ReconcileError::other(format!("delete Node {}", node.name), Chain(&error)))
}

/// Stops something of a Machine that has released the host. The next pass reports a failure.
async fn run(
    controller: &Hosts,
    observed: &Observed,
    script: Result<Script, RenderError>,
) -> ActionOutcome {
    let host = observed.host.as_ref();
    if let Err(error) = controller.hosts.run(host, script).await {
        tracing::warn!(host = %host.name_any(), error = %error, "what its Machine left running could not be stopped");
        return ActionOutcome::LookAgain(SERVER);
    }
    controller.base.wakers.hosts.wake_object(host);
    ActionOutcome::Yes
}

/// Clears the claim of a host that has nothing of its Machine.
async fn free(
    controller: &Hosts,
    observed: &Observed,
    clean: &Clean,
) -> Result<(), ReconcileError> {
    settle(controller, observed, clean).await?;
    let change = |host: &Host| {
        json!({
            "metadata": { "finalizers": finalizers::without(host, FINALIZER_IN_USE) },
            "spec": { "consumerRef": Value::Null },
        })
    };
    clear(controller, observed, change).await?;
    tracing::info!(host = %observed.host.name_any(), "host freed");
    Ok(())
}

/// Clears the claim, if any, and the installation record of a reinstalled host, and pins its host
/// key.
async fn free_installed(
    controller: &Hosts,
    observed: &Observed,
    clean: Option<&Clean>,
    key: &str,
) -> Result<(), ReconcileError> {
    let proven = released::installed(&observed.host, clean);
    let proven = proven.map_err(|why| ReconcileError::other("free a host that was installed", why));
    if let Some(clean) = proven? {
        settle(controller, observed, clean).await?;
    }
    let change = |host: &Host| {
        json!({
            "metadata": {
                "finalizers": finalizers::without(host, FINALIZER_IN_USE),
                "annotations": { ANNOTATION_INSTALLATION: null },
            },
            "spec": { "consumerRef": Value::Null, "ssh": { "hostKeys": [key] } },
        })
    };
    clear(controller, observed, change).await?;
    tracing::info!(host = %observed.host.name_any(), "host freed");
    Ok(())
}

/// Removes the finalizer of a Host in deletion. A Machine that claims it has nothing on its server.
async fn let_go(controller: &Hosts, observed: &Observed) -> Result<(), ReconcileError> {
    let change = |host: &Host| json!({ "metadata": { "finalizers": finalizers::without(host, FINALIZER_IN_USE) } });
    clear(controller, observed, change).await?;
    tracing::info!(host = %observed.host.name_any(), "finalizer removed from a Host that is being deleted");
    Ok(())
}

/// Removes the finalizer of a Host whose server another Host represents, read live: of two deleted
/// at once, one remains.
async fn leave_to(
    controller: &Hosts,
    observed: &Observed,
    other: &str,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let namespace = host.namespace().unwrap_or_default();
    let seen = match &observed.contact {
        Contact::Seen(seen) => Some(&seen.facts),
        _ => None,
    };
    let hosts: Api<Host> = Api::namespaced(controller.base.client(), &namespace);
    let live = hosts
        .get_opt(other)
        .await
        .map_err(ReconcileError::api(format!("read Host {other}")))?;
    let claimant = claim::claimant(host, &controller.base.management);
    let is_marked = |of: &Host| {
        let claimant = claimant.as_ref();
        claimant.is_some_and(|claimant| is_marked(controller, of, claimant))
    };
    if !released::is_left_to(host, seen, live.as_ref(), is_marked) {
        return Err(ReconcileError::Conflict {
            what: format!(
                "leave the server of Host {} to Host {other}",
                host.name_any()
            ),
        });
    }
    controller.base.engine.must_lead()?;
    let_go(controller, observed).await
}

/// Completes what its Machine may have left open, as one deleted before its host was reset: the
/// control-plane turn, and a Node that was registered again when the host was powered on for its
/// reset.
async fn settle(
    controller: &Hosts,
    observed: &Observed,
    clean: &Clean,
) -> Result<(), ReconcileError> {
    let Some(owner) = claim::claimant(&observed.host, &controller.base.management) else {
        return Ok(());
    };
    let proven = clean.ended(&owner.uid).map(TurnIsOver::Proven);
    let Some(over) = proven else {
        return Err(ReconcileError::other(
            "free a host",
            "the proof is about another Machine",
        ));
    };
    turn::give_back(&controller.turns, &owner, &over).await?;
    delete_left_node(controller, &owner).await
}

/// Changes a Host whose claim and installation are still as they were observed.
async fn clear(
    controller: &Hosts,
    observed: &Observed,
    change: impl Fn(&Host) -> Value,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    patch::swap(&controller.base.engine, host, released::basis, change)
        .await
        .map(drop)
}

#[cfg(test)]
#[path = "perform_tests.rs"]
mod tests;
