//! It is being deleted: hooks, drain, volumes, virtual IP and etcd member, and then its host is
//! released.

use k8s_openapi::jiff::Timestamp;

use super::super::deletion::{deleting, of_user};
use super::super::end::{give_up, given_up};
use super::super::{Action, Plan, Release, drain, hooks, hypervisor, leaving};
use crate::api::conditions::Reason;
use crate::machine::observed::{Infrastructure, Observed};

/// The next step.
pub(super) fn plan(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    let plan = hooks::hold(observed, || let_go(observed, held, now));
    leaving::first(observed, plan, false, now)
}

fn let_go(observed: &Observed, held: &Infrastructure, now: Timestamp) -> Plan {
    if observed.virtual_machine.is_some()
        && let Some(proof) = given_up(observed, Some(held), now)
    {
        return give_up(observed, &proof);
    }
    let mut release = Plan::act(
        Action::Release(Release::Now),
        deleting(Reason::Releasing, format!("releasing {}", held.name)),
    );
    hypervisor::record(observed, &mut release);
    if observed.virtual_machine.is_none() && of_user(observed).is_some() {
        return drain::skipped(observed, release);
    }
    drain::first(observed, release, now)
}
