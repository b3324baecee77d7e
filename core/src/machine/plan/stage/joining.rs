//! kubeadm join was begun on the host.

use k8s_openapi::jiff::Timestamp;

use super::super::{Action, Plan, job, turn_end};
use super::{SeenHost, awaiting_grant, registering};
use crate::node::JobKind;

/// Attaches to it, waits before it is tried again, or begins anew as the first time.
pub(super) fn plan(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let SeenHost { observed, seen, .. } = *host;
    // one whose marker says that it joined has its member; what is left of its job are the steps
    // after kubeadm
    let owner = seen.owner.of(&observed.marker);
    let is_joined = owner.is_some_and(|owner| owner.joined) && observed.acts_as_control_plane();
    let over = turn_end::ended(observed).filter(|_| is_joined);
    let mut plan = next(host, is_joined, now);
    let returns = |action: &Action| matches!(action, Action::ReturnTurn(_));
    if let Some(over) = over.filter(|_| !plan.actions.iter().any(returns)) {
        plan.actions.insert(0, Action::ReturnTurn(over));
    }
    plan
}

fn next(host: &SeenHost<'_>, is_joined: bool, now: Timestamp) -> Plan {
    let SeenHost { observed, seen, .. } = *host;
    if let Some(halted) = awaiting_grant::halted(host) {
        return halted;
    }
    if is_joined || job::runs_or_ran(observed, seen, JobKind::Join) {
        let run = job::unfinished(observed, seen, JobKind::Join, now);
        return run.unwrap_or_else(|| registering::plan(observed));
    }
    awaiting_grant::plan(host, now)
}
