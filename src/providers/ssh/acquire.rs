//! Claims a Host for a Machine, by compare-and-swap.

use super::Ssh;
use crate::engine::{ReconcileError, patch};
use crate::providers::choice::choose;
use tatara_core::api::Host;
use tatara_core::machine::live::claim::{self as live, Claimant};
use tatara_core::machine::{Observed, PendingClaim};
use tatara_core::proof::Clean;

/// Claims a host by compare-and-swap. The claim is kept in memory until the store shows it, so that
/// a stale store never makes a Machine claim a second host.
///
/// # Errors
/// `ReconcileError::Conflict` when another Machine claims the Host or it was modified, `NotLeading`
/// without leadership; otherwise those of [`choose`] and [`patch::swap`].
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
    let claimant = live::claimant(&host, &observed.marker);
    if claimant == Claimant::Own {
        return Ok(());
    }
    choose(&ssh.engine, observed, name, instead).await?;
    ssh.engine.must_lead()?;
    let change = |host: &Host| live::claim(host, &observed.marker);
    let claimed = match claimant {
        Claimant::Other(other) => Err(ReconcileError::Conflict {
            what: format!("claim Host {name}, which Machine {other} claims"),
        }),
        _ => patch::swap(&ssh.engine, host.as_ref(), live::host_basis, change).await,
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

/// Clears the choice of a Machine whose host another Machine claimed first.
async fn forget_choice(ssh: &Ssh, observed: &Observed, host: &Host) -> Result<(), ReconcileError> {
    let live = patch::live(&ssh.engine, host).await?;
    let Some(change) = live::without_choice(&live, &observed.marker) else {
        return Ok(());
    };
    ssh.engine.must_lead()?;
    patch::write(&ssh.engine, observed.machine.as_ref(), change)
        .await
        .map(drop)
}
