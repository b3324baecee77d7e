//! Its host is prepared for kubeadm: packages, kernel, container runtime; again where what was
//! prepared is not what is needed.

use k8s_openapi::jiff::Timestamp;

use super::super::{Plan, gates, job, recorded};
use super::SeenHost;
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::machine::units;
use crate::node::JobKind;

/// Whether the host is not prepared as this Machine needs it, or cannot be.
pub(super) fn is_due(host: &SeenHost<'_>) -> bool {
    let is_prepared = |unit| {
        let owner = host.seen.owner.of(&host.observed.marker);
        owner.is_some_and(|owner| recorded::is_prepared(host.observed, host.seen, owner, &unit))
    };
    let is_done = units::prepare(host.observed).is_ok_and(is_prepared);
    !is_done || gates::before_kubeadm(host.observed, host.seen).is_some()
}

/// The next step.
pub(super) fn plan(host: &SeenHost<'_>, now: Timestamp) -> Plan {
    let SeenHost { observed, seen, .. } = *host;
    if let Err(problem) = units::prepare(observed) {
        return Plan::waiting(Finding::no(
            ConditionType::BootstrapReady,
            Reason::InvalidConfiguration,
            problem,
        ));
    }
    if let Some(plan) = gates::before_kubeadm(observed, seen) {
        return plan;
    }
    let kind = JobKind::Prepare;
    let prepare = job::of_kind(observed, kind);
    let starts = || {
        if prepare.is_done(seen.job(&prepare.job)) {
            let again = recorded::again(observed, seen);
            return Finding::no(ConditionType::BootstrapReady, kind.running(), again);
        }
        job::starts(observed, kind)
    };
    let attempt = job::afresh(observed, seen, &prepare, now);
    job::plan(kind, &attempt, starts).unwrap_or_default()
}
