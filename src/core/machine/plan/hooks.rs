//! Hooks: annotations with which other controllers hold the deletion of a Machine before its drain, or after it, as in Cluster
//! API. Their owners remove them.

use kube::ResourceExt;

use super::super::observed::Observed;
use super::delete::deleting;
use super::{Action, Plan, drain};
use crate::api::conditions::{Finding, Reason};
use crate::api::names::{HOOK_PRE_DRAIN, HOOK_PRE_TERMINATE};

/// Holds a plan that lets go of a machine. Hooks before the drain hold what is drained; those after it hold every release,
/// also when the whole cluster goes.
pub(super) fn hold(observed: &Observed, mut plan: Plan) -> Plan {
    let drains = |action: &Action| matches!(action, Action::Drain { .. });
    if plan.actions.iter().any(drains)
        && let Some(finding) = held_by(observed, HOOK_PRE_DRAIN, "drained")
    {
        return Plan::waiting(finding);
    }
    let ends = |action: &Action| !drains(action) && !matches!(action, Action::AwaitVolumes { .. });
    if plan.actions.iter().any(ends)
        && let Some(finding) = held_by(observed, HOOK_PRE_TERMINATE, "released")
    {
        plan.actions.retain(|action| !ends(action));
        if plan.actions.is_empty() || drain::is_drained(observed) {
            return Plan::waiting(finding);
        }
        plan.actions.push(Action::AwaitHooks(finding));
    }
    plan
}

/// What holds a Machine: its annotations with this prefix, whose values name their owners.
fn held_by(observed: &Observed, prefix: &str, what: &str) -> Option<Finding> {
    let annotations = observed.machine.annotations().iter();
    let hooks = annotations.filter(|(key, _)| {
        let rest = key.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let (mut names, mut removed) = (Vec::new(), Vec::new());
    for (key, owner) in hooks {
        let owner = match owner.as_str() {
            "" => String::new(),
            owner => format!(" (owner: {owner})"),
        };
        names.push(format!("{key}{owner}"));
        removed.push(format!("{key}-"));
    }
    if names.is_empty() {
        return None;
    }
    let marker = &observed.marker;
    let message = format!(
        "not {what} before its owner removes the annotation {}. If the owner no longer runs: kubectl -n {} annotate machine {} {}",
        names.join(", "),
        marker.namespace,
        marker.machine,
        removed.join(" ")
    );
    Some(deleting(Reason::WaitingForHook, message))
}
