//! A Machine claims a Host, by compare-and-swap.

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

/// Claims a host by compare-and-swap. The claim is remembered until the store shows it, so that a
/// stale store never makes a Machine take a second host.
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
    // also where it was released since: what was done stays
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
    // everything that the choice rested on
    let part = |host: &Host| {
        let status = host.status.as_ref();
        let is_available =
            status.is_some_and(|s| conditions::is_true(&s.conditions, ConditionType::Available));
        let deleted = host.metadata.deletion_timestamp.clone();
        let is_paused = host.annotations().contains_key(ANNOTATION_PAUSED);
        (host.spec.clone(), deleted, is_available, is_paused)
    };
    let claimed = match &host.spec.consumer_ref {
        // taken since the choice was made
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

/// A Machine that came second for its host chooses anew: else it would wait for a host that another has. Not where the
/// claim is its own after all, as when the answer to it was lost.
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
