//! The server of a running Machine does not have its marker.

use kube::ResourceExt;

use super::super::observed::Observed;
use super::{Plan, claimed, consumer};
use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::node::Observation;
use crate::remedy;

/// The marker is written before kubeadm is started. Without it, traces of Kubernetes on the server
/// may be those of the Machine: a `kubeadm reset` would destroy a node whose `/var` is not mounted.
pub fn marker(observed: &Observed, seen: &Observation) -> Option<Plan> {
    let claim = consumer(observed).filter(|claim| !claim.releasing)?;
    if !observed.consumer.exists() || !observed.consumer.is_begun() {
        return None;
    }
    let machine = &claim.name;
    let end = match &observed.guards {
        Some(cluster) => format!(
            "It has the control plane of Cluster {cluster}: if it was erased, see docs/operating.md#dead-control-plane"
        ),
        None => format!(
            "Only if it was erased: {}",
            remedy::machine::delete(&observed.host.namespace().unwrap_or_default(), machine)
        ),
    };
    let message = format!(
        "Machine {machine} runs on it, but its server does not have the marker /var/lib/tatara/owner.json of that Machine{}, for example because /var is not mounted or the disk was replaced; nothing is done. Mount the disk. {end}",
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
    // without the remedies, which are those of a free host
    let found = seen.occupied.iter().map(|finding| finding.value.as_str());
    let found: Vec<&str> = found.collect();
    match found.join("; ") {
        none if none.is_empty() => " or any of its data".to_owned(),
        found => format!(" (but {found})"),
    }
}
