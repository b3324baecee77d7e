//! Claims a Host for a Machine, by compare-and-swap.

use kube::ResourceExt;
use serde_json::json;

use super::Ssh;
use crate::api::conditions::ConditionType;
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_PAUSED, FINALIZER_IN_USE};
use crate::api::{Host, conditions};
use crate::core::claim::is_of;
use crate::core::finalizers;
use crate::core::machine::{Observed, PendingClaim};
use crate::core::proof::Clean;
use crate::engine::{ReconcileError, patch};
use crate::providers::choice::choose;

/// Claims a host by compare-and-swap. The claim is kept in memory until the store shows it, so that a
/// stale store never makes a Machine claim a second host.
///
/// # Errors
/// `ReconcileError::Conflict` when another Machine claims the Host or it was modified, `NotLeading` without leadership;
/// otherwise those of [`choose`] and [`patch::swap`].
pub(super) async fn claim(
    ssh: &Ssh,
    observed: &Observed,
    name: &str,
    instead: Option<&Clean>,
) -> Result<(), ReconcileError> {
    let Some(host) = ssh
        .engine
        .stores
        .hosts
        .get(&observed.marker.namespace, name)
    else {
        return Ok(());
    };
    // claimed already, even if released since: a claim is never renewed
    if is_of(&host, &observed.marker) {
        return Ok(());
    }
    choose(&ssh.engine, observed, name, instead).await?;
    ssh.engine.must_lead()?;
    let change = |host: &Host| {
        json!({
            "metadata": { "finalizers": finalizers::with(host, FINALIZER_IN_USE) },
            "spec": { "consumerRef": {
                "name": observed.marker.machine,
                "uid": observed.uid(),
                "cluster": observed.marker.cluster,
                "releasing": false,
            } },
        })
    };
    // every field that the choice depends on
    let part = |host: &Host| {
        let status = host.status.as_ref();
        let is_available =
            status.is_some_and(|s| conditions::is_true(&s.conditions, ConditionType::Available));
        let deleted = host.metadata.deletion_timestamp.clone();
        let is_paused = host.annotations().contains_key(ANNOTATION_PAUSED);
        (host.spec.clone(), deleted, is_available, is_paused)
    };
    let claimed = match &host.spec.consumer_ref {
        // claimed by another Machine since the choice was made
        Some(other) => Err(ReconcileError::Conflict {
            what: format!("claim Host {name}, which Machine {} claims", other.name),
        }),
        None => patch::swap(&ssh.engine, host.as_ref(), part, change).await,
    };
    let claimed = match claimed {
        Err(error) if error.is_conflict() => {
            forget_choice(ssh, observed, &host).await?;
            return Err(error);
        }
        result => result?,
    };
    let claim = PendingClaim {
        host: name.to_owned(),
        generation: claimed.metadata.generation,
    };
    ssh.claims().insert(observed.uid().to_owned(), claim);
    Ok(())
}

/// Clears the choice of a Machine whose host another Machine claimed first: otherwise it would wait for that host. Not
/// if the claim is its own after all, as when the response was lost.
async fn forget_choice(ssh: &Ssh, observed: &Observed, host: &Host) -> Result<(), ReconcileError> {
    let live = patch::live(&ssh.engine, host).await?;
    if is_of(&live, &observed.marker) {
        return Ok(());
    }
    ssh.engine.must_lead()?;
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_HOST): null } } });
    patch::write(&ssh.engine, observed.machine.as_ref(), change)
        .await
        .map(drop)
}
