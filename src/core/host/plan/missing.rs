//! The server of a Machine that runs does not show it.

use kube::ResourceExt;

use super::super::observed::Observed;
use super::{Plan, claimed, consumer};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::core::node::Observation;

/// The marker is there before kubeadm is begun. Without it, what else is found is not somebody else's: a `kubeadm reset`
/// would end a node whose `/var` is not mounted.
pub fn marker(observed: &Observed, seen: &Observation) -> Option<Plan> {
    let claim = consumer(observed).filter(|claim| !claim.releasing)?;
    if !observed.consumer.exists() || !observed.consumer.is_begun() {
        return None;
    }
    let machine = &claim.name;
    let end = match &observed.guards {
        Some(cluster) => format!(
            "It has the control plane of Cluster {cluster}: if it was erased, docs/operating.md#dead-control-plane"
        ),
        None => format!(
            "Only if it was erased: kubectl -n {} delete machine {machine}",
            observed.host.namespace().unwrap_or_default()
        ),
    };
    let message = format!(
        "Machine {machine} runs on it, and its server does not show the marker of that, /var/lib/tatara/owner.json{}, as with another disk, or with /var not mounted; nothing is done. Mount it. {end}",
        found(seen)
    );
    let mut plan = claimed::by_machine(observed);
    plan.findings.insert(
        0,
        Finding::no(ConditionType::Clean, Reason::MarkerMissing, message),
    );
    Some(plan)
}

fn found(seen: &Observation) -> String {
    let found: Vec<String> = seen.occupied.iter().map(ToString::to_string).collect();
    match found.join("; ") {
        none if none.is_empty() => " or any of its data".to_owned(),
        found => format!(" (but {found})"),
    }
}
