//! Hooks: annotations with which other controllers hold the deletion of a Machine before its drain,
//! or after it, as in Cluster API. Their owners remove them.

use kube::ResourceExt;

use super::super::observed::{Observed, Placement};
use super::deletion::deleting;
use super::{Action, Plan, drain};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::api::names::{HOOK_PRE_DRAIN, HOOK_PRE_TERMINATE};
use crate::remedy;

/// What lets go of a machine, held by hooks. Those before the drain hold it for as long as its pods
/// are to be evicted, whether or not that is possible now; those after it hold every release, also
/// when the whole cluster goes. No time limit lifts them.
pub(super) fn hold(observed: &Observed, let_go: impl FnOnce() -> Plan) -> Plan {
    if matches!(observed.placement, Placement::Held(_))
        && observed.user_says_gone().is_none()
        && drain::is_due_but_for_exclusion(observed)
        && let Some(finding) = held_by(observed, HOOK_PRE_DRAIN, "drained")
    {
        return Plan::waiting(finding);
    }
    let mut plan = let_go();
    let drains =
        |action: &Action| matches!(action, Action::Drain { .. } | Action::AwaitVolumes { .. });
    if plan.actions.iter().any(|action| !drains(action))
        && let Some(finding) = held_by(observed, HOOK_PRE_TERMINATE, "released")
    {
        plan.actions.retain(drains);
        if plan.actions.is_empty() {
            let of_drain = |finding: &Finding| finding.condition == ConditionType::Draining;
            plan.findings.retain(of_drain);
            plan.findings.push(finding);
            return plan;
        }
        plan.actions.push(Action::AwaitHooks(finding));
    }
    plan
}

/// Whether a hook holds what comes after the drain.
pub(super) fn holds_release(observed: &Observed) -> bool {
    held_by(observed, HOOK_PRE_TERMINATE, "released").is_some()
}

/// What holds a Machine: its annotations with this prefix, whose values name their owners.
fn held_by(observed: &Observed, prefix: &str, what: &str) -> Option<Finding> {
    let annotations = observed.machine.annotations().iter();
    let hooks = annotations.filter(|(key, _)| {
        let rest = key.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let (mut names, mut keys) = (Vec::new(), Vec::new());
    for (key, owner) in hooks {
        let owner = match owner.as_str() {
            "" => String::new(),
            owner => format!(" (owner: {owner})"),
        };
        names.push(format!("{key}{owner}"));
        keys.push(key.as_str());
    }
    if names.is_empty() {
        return None;
    }
    let marker = &observed.marker;
    let message = format!(
        "not {what} while it has the annotation{} {}: the owner removes it when it is done. If that no longer runs: {}",
        if names.len() == 1 { "" } else { "s" },
        names.join(", "),
        remedy::machine::remove_hooks(&marker.namespace, &marker.machine, &keys)
    );
    Some(deleting(Reason::WaitingForHook, message))
}
