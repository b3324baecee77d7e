//! It is being deleted, and has no place. That proves nothing: the place that it may have had must
//! prove that it no longer runs, or the user must confirm it.

use k8s_openapi::jiff::Timestamp;

use super::super::deletion::{deleting, of_user};
use super::super::end::{finish, give_up, given_up};
use super::super::{Action, Plan, Release, hooks, hypervisor, leaving, lost_claim, release};
use crate::api::conditions::Reason;
use crate::machine::kind::PlaceKind;
use crate::machine::observed::Observed;
use crate::proof::Proof;
use crate::{Next, pace};

/// The next step.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let plan = hooks::hold(observed, || without_place(observed, now));
    leaving::first(observed, plan, !hooks::holds_release(observed), now)
}

fn without_place(observed: &Observed, now: Timestamp) -> Plan {
    if observed.virtual_machine.is_some() {
        return no_machine_left(observed, now);
    }
    let proof = if was_simulated(observed) {
        Proof::of_simulation(observed.uid(), false).ok_or_else(String::new)
    } else {
        lost_claim::proof(observed)
    };
    let why = match proof {
        Ok(proof) => return finish(observed, &proof, now),
        Err(why) => why,
    };
    if let Some(proof) = of_user(observed) {
        return finish(observed, &proof, now);
    }
    let kept = release::kept(observed);
    let message = format!(
        "nothing proves that this Machine no longer runs: {why}{kept}. {}",
        lost_claim::remedy(observed)
    );
    Plan::waiting(deleting(Reason::NotReset, message))
}

/// Whether nothing of it is anywhere but in the manager's memory. A spec that says so can be
/// edited; its provider ID came with the simulation, and before that nothing was begun.
fn was_simulated(observed: &Observed) -> bool {
    let is_begun = observed.is_begun() && PlaceKind::of_id(&observed.machine).is_none();
    observed.is_in_memory() && !is_begun && observed.claims.is_empty() && observed.chosen.is_none()
}

/// What its gateway does not show may still be in the making, or have left its disks: the gateway
/// is asked to end it all the same, and answers once nothing of it is left.
fn no_machine_left(observed: &Observed, now: Timestamp) -> Plan {
    if let Some(proof) = given_up(observed, None, now) {
        return give_up(observed, &proof);
    }
    // also beside actions: what the gateway did not end, it is asked for again
    let again = Next::After(pace::GATEWAY);
    if let Some(why) = hypervisor::doubt(observed) {
        return match of_user(observed) {
            Some(proof) => give_up(observed, &proof),
            None => Plan {
                next: again,
                ..Plan::waiting(deleting(Reason::NotReset, why))
            },
        };
    }
    let told = observed.virtual_machine.as_ref().map(|vm| &vm.told);
    let is_gone = told.is_some_and(|told| told.as_ref().is_ok_and(|told| told.is_gone));
    let answer = if is_gone { Ok(()) } else { Err(()) };
    let release = || {
        let message = "its gateway deletes what is left of the virtual machine";
        Plan::act(
            Action::Release(Release::Now),
            deleting(Reason::Finishing, message),
        )
    };
    let mut plan = match Proof::of_gateway(observed.uid(), &answer) {
        Some(proof) => finish(observed, &proof, now),
        None => release(),
    };
    if plan
        .actions
        .first()
        .is_some_and(|first| *first != Action::Release(Release::Now))
    {
        plan.actions.insert(0, Action::Release(Release::Now));
    }
    plan.next = plan.next.sooner(again);
    plan
}
