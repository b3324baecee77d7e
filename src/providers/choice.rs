//! Records a Machine's chosen place on the Machine by compare-and-swap, before the place is claimed
//! or created.

use crate::engine::{Engine, ReconcileError, patch};
use tatara_core::machine::Observed;
use tatara_core::machine::live::claim::{Choice, machine_basis, may_choose};
use tatara_core::machine::plan::claim::chosen;
use tatara_core::proof::Clean;

/// Records the chosen host on the Machine, unless it is recorded already. To replace a former
/// choice, proof is required that nothing of the Machine is on the former host.
///
/// # Errors
/// `ReconcileError::Other` without that proof; otherwise those of [`patch::swap`].
pub(super) async fn choose(
    engine: &Engine,
    observed: &Observed,
    host: &str,
    instead: Option<&Clean>,
) -> Result<(), ReconcileError> {
    match may_choose(observed, host, instead) {
        Ok(Choice::Recorded) => Ok(()),
        Ok(Choice::Due) => {
            let machine = observed.machine.as_ref();
            let change = |_: &_| chosen(observed, host);
            let swapped = patch::swap(engine, machine, machine_basis, change).await;
            swapped.map(drop)
        }
        Err(why) => {
            let what = "choose another host for a Machine";
            Err(ReconcileError::other(what, why))
        }
    }
}
