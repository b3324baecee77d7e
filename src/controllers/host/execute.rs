//! Does what a plan says.

use std::time::Duration;

use serde_json::{Value, json};

use super::install;
use super::observed::Observed;
use super::plan::{Action, Plan};
use super::switch::{Switch, switch};
use crate::api::Host;
use crate::api::names::{ANNOTATION_INSTALLATION, FINALIZER_IN_USE, provider_id};
use crate::controllers::machine::turn;
use crate::controllers::{Chain, Next, ReconcileError, patch};
use crate::manager::Context;
use crate::node::{self, Marker, UnitName};
use crate::workload;
use kube::ResourceExt;

/// A host that could not be reached is tried again after this time.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// Does the plan's actions in order. Says when to look again, beside on every change.
pub async fn execute(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
) -> Result<Next, ReconcileError> {
    let mut next = Next::OnChange;
    for action in &plan.actions {
        context.must_lead()?;
        match action {
            Action::PinKeys(keys) => pin(context, observed, keys).await?,
            Action::Reset(marker) => next = reset(context, observed, marker).await?,
            Action::Free => free(context, observed, None).await?,
            Action::SwitchOn => switch(context, observed, Switch::On).await?,
            Action::SwitchOff => switch(context, observed, Switch::Off).await?,
            Action::Fence => switch(context, observed, Switch::Fence).await?,
            Action::StopKubelet(marker) => next = stop_kubelet(context, observed, marker).await,
            Action::BeginInstallation => install::begin(context, observed).await?,
            Action::OpenInstaller => install::open_again(context, observed).await?,
            Action::BootInstaller => install::boot(context, observed).await?,
            Action::BootInstalled => install::boot_installed(context, observed).await?,
            Action::EndInstallation => install::end(context, observed).await?,
            Action::GiveUpInstallation(cause, why) => {
                install::give_up(context, observed, *cause, why.clone()).await?;
            }
        }
    }
    Ok(next)
}

async fn pin(
    context: &Context,
    observed: &Observed,
    keys: &[String],
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    let change = |_: &Host| json!({ "spec": { "ssh": { "hostKeys": keys } } });
    patch::swap(&context.client, host, |host| host.spec.ssh.clone(), change)
        .await
        .map(drop)
}

async fn reset(
    context: &Context,
    observed: &Observed,
    marker: &Marker,
) -> Result<Next, ReconcileError> {
    let pod_cidrs = pod_cidrs(context, marker);
    let unit = node::reset(&node::Reset {
        pod_cidrs: &pod_cidrs,
    })
    .map_err(|error| ReconcileError::other("render the reset", error))?;
    let script = node::start_and_follow(marker, &unit, crate::clock::now())
        .map_err(|error| ReconcileError::other("render the reset", error))?;
    // A host that does not answer is the next pass's finding.
    let Ok(session) = context.hosts.session(observed.host.as_ref()).await else {
        return Ok(Next::After(TRY_AGAIN));
    };
    let (waker, host) = (context.wakers.hosts.clone(), observed.host.clone());
    let wake = Box::new(move || waker.wake_object(&host));
    context
        .follows
        .start(&marker.uid, UnitName::Reset, session, script, wake);
    Ok(Next::OnChange)
}

/// The pod networks of the cluster that the host belonged to, as far as it still exists.
fn pod_cidrs(context: &Context, marker: &Marker) -> Vec<String> {
    let cluster = context
        .stores
        .clusters
        .get(&marker.namespace, &marker.cluster);
    cluster
        .map(|cluster| cluster.spec.cluster_network.pods.cidr_blocks.clone())
        .unwrap_or_default()
}

/// A host that was switched on to be reset may have announced the Node of its Machine anew, which went while it
/// was off: the reset has ended it for good.
async fn delete_left_node(context: &Context, owner: &Marker) -> Result<(), ReconcileError> {
    let stores = &context.stores;
    if stores.machines.by_uid(&owner.uid).is_some() {
        return Ok(());
    }
    let cluster = stores.clusters.get(&owner.namespace, &owner.cluster);
    let Some(member) = cluster.and_then(|cluster| context.member(&cluster)) else {
        return Ok(());
    };
    let Some(node) = member.node_by_provider_id(&provider_id("ssh", &owner.uid)) else {
        return Ok(());
    };
    let deleted = workload::nodes::delete(member.client(), &node.name, &node.uid).await;
    deleted
        .map(drop)
        .map_err(|error| ReconcileError::other(format!("delete Node {}", node.name), Chain(&error)))
}

/// Stops the kubelet of a Machine that has let go of the host. A failure is the next pass's finding.
async fn stop_kubelet(context: &Context, observed: &Observed, marker: &Marker) -> Next {
    let host = observed.host.as_ref();
    if let Err(error) = context.hosts.run(host, node::retain(marker)).await {
        tracing::warn!(host = %host.name_any(), error = %error, "its kubelet could not be stopped");
        return Next::After(TRY_AGAIN);
    }
    context.wakers.hosts.wake_object(host);
    Next::OnChange
}

/// Clears the claim; of a host that was installed, also what stands of that, and pins its key.
pub async fn free(
    context: &Context,
    observed: &Observed,
    installed: Option<&str>,
) -> Result<(), ReconcileError> {
    let host = observed.host.as_ref();
    if let Some(consumer) = &host.spec.consumer_ref {
        // What was reset runs no control plane: the proof on which the turn moves.
        let owner = Marker {
            management: context.management.clone(),
            namespace: host.namespace().unwrap_or_default(),
            cluster: consumer.cluster.clone(),
            machine: consumer.name.clone(),
            uid: consumer.uid.clone(),
        };
        turn::give_back(context, &owner).await?;
        delete_left_node(context, &owner).await?;
    }
    let change = |host: &Host| {
        let mut change = json!({
            "metadata": { "finalizers": patch::without_finalizer(host, FINALIZER_IN_USE) },
            "spec": { "consumerRef": Value::Null },
        });
        if let Some(key) = installed {
            change["metadata"]["annotations"] = json!({ ANNOTATION_INSTALLATION: null });
            change["spec"]["ssh"] = json!({ "hostKeys": [key] });
        }
        change
    };
    let claim = |host: &Host| {
        let underway = host.annotations().get(ANNOTATION_INSTALLATION).cloned();
        (host.spec.consumer_ref.clone(), underway)
    };
    patch::swap(&context.client, host, claim, change).await?;
    tracing::info!(host = %host.name_any(), "host freed");
    Ok(())
}
