//! A Machine whose Node is there: keep the Node as the Machine says, and say how it is.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;

use super::super::observed::Observed;
use super::super::settings;
use super::{Action, Plan};
use crate::api::conditions::Finding;
use crate::kubeadm::KubernetesVersion;
use crate::workload::NodeView;
use crate::workload::node_change::NodeChange;

/// Keeps the Node as the Machine says.
pub fn plan(observed: &Observed, node: &NodeView) -> Plan {
    let mut plan = Plan::default();
    if observed.has_turn() {
        plan.actions.push(Action::ReturnTurn);
    }
    if observed.has_token {
        plan.actions.push(Action::RemoveToken);
    }
    if differs(&wanted(observed), node) {
        plan.actions.push(Action::UpdateNode {
            node: node.name.clone(),
            uid: node.uid.clone(),
        });
    }
    plan.findings.push(Finding::yes(
        "InfrastructureReady",
        "HostClaimed",
        format!("runs as Node {}", node.name),
    ));
    plan.findings
        .push(Finding::yes("BootstrapReady", "Bootstrapped", ""));
    plan.findings.push(health(node));
    plan.findings.push(up_to_date(observed, node));
    plan
}

/// What the Machine wants of its Node. Taints are additive: others stay.
pub fn wanted(observed: &Observed) -> NodeChange {
    let machine = &observed.machine;
    let mut annotations = machine.spec.metadata.annotations.clone();
    annotations.insert(
        crate::api::names::ANNOTATION_MACHINE.into(),
        format!("{}/{}", observed.marker.namespace, observed.marker.machine),
    );
    NodeChange {
        labels: set(machine.spec.metadata.labels.clone()),
        annotations: set(annotations),
        taints: machine.spec.taints.clone(),
        ..NodeChange::default()
    }
}

fn differs(wanted: &NodeChange, node: &NodeView) -> bool {
    let lacks = |wanted: &BTreeMap<String, Option<String>>, has: &BTreeMap<String, String>| {
        wanted
            .iter()
            .any(|(key, value)| has.get(key) != value.as_ref())
    };
    let tainted = |taint: &Taint| {
        node.taints.iter().any(|has| {
            has.key == taint.key && has.effect == taint.effect && has.value == taint.value
        })
    };
    lacks(&wanted.labels, &node.labels)
        || lacks(&wanted.annotations, &node.annotations)
        || !wanted.taints.iter().all(tainted)
}

fn set(map: BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    map.into_iter()
        .map(|(key, value)| (key, Some(value)))
        .collect()
}

fn health(node: &NodeView) -> Finding {
    match node.ready {
        Some(true) => Finding::yes(
            "NodeHealthy",
            "NodeReady",
            format!("Node {} is Ready", node.name),
        ),
        Some(false) => Finding::no(
            "NodeHealthy",
            "NodeNotReady",
            format!("Node {}: {}", node.name, node.ready_message),
        ),
        None => Finding::unknown(
            "NodeHealthy",
            "NodeUnknown",
            format!("Node {}: {}", node.name, node.ready_message),
        ),
    }
}

fn up_to_date(observed: &Observed, node: &NodeView) -> Finding {
    let machine = observed.machine.as_ref();
    let wanted = machine.versions().map_or("", |v| v.kubelet.as_str());
    let runs = &node.kubelet_version;
    if wanted.parse::<KubernetesVersion>().ok() != runs.parse::<KubernetesVersion>().ok() {
        let message = format!(
            "spec.versions.kubelet is {wanted}, and the kubelet runs {runs}; replace the Machine to change it"
        );
        return Finding::no("UpToDate", "KubeletVersionDiffers", message);
    }
    let spec = observed.cluster.as_ref().and_then(|c| c.spec.as_ref().ok());
    let behind = spec
        .map(|spec| settings::behind(machine, spec))
        .unwrap_or_default();
    if !behind.is_empty() {
        let message = format!(
            "the Cluster's settings were changed after this node was made with them: {}; a running node is not changed: set them back, or replace the Machine for those of joinConfiguration",
            behind.join("; ")
        );
        return Finding::no("UpToDate", "SettingsDiffer", message);
    }
    Finding::yes("UpToDate", "VersionsEqual", format!("kubelet {runs}"))
}
