//! The labels, annotations and taints of a Machine's Node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;

use super::super::observed::{Lookup, Observed};
use super::membership;
use crate::NodeView;
use crate::kubeadm;
use crate::node_change::NodeChange;

/// The desired labels, annotations and taints of the Node. Taints are additive: others stay.
pub fn wanted(observed: &Observed) -> NodeChange {
    let machine = &observed.machine;
    let mut annotations = machine.spec.metadata.annotations.clone();
    annotations.insert(
        crate::api::names::ANNOTATION_MACHINE.into(),
        format!("{}/{}", observed.marker.namespace, observed.marker.machine),
    );
    let own = NodeChange {
        labels: set(machine.spec.metadata.labels.clone()),
        annotations: set(annotations),
        taints: machine.spec.taints.clone(),
        ..NodeChange::default()
    };
    match kubeadm_marks(observed) {
        Some(marks) => with(own, marks),
        None => own,
    }
}

/// kubeadm's marks of a control plane, where its Node is another one than the Machine has recorded:
/// it was deleted by hand, and a kubelet registers it without them. On the recorded one they are
/// the user's to change.
fn kubeadm_marks(observed: &Observed) -> Option<NodeChange> {
    let Lookup::Known(Some(node)) = &observed.node else {
        return None;
    };
    let status = observed.machine.status.as_ref()?;
    let recorded = status.node_ref.as_ref()?.uid.as_ref()?;
    if *recorded == node.uid || observed.is_deleting() || !membership::is_asked(observed) {
        return None;
    }
    let spec = observed.cluster.as_ref()?.spec.as_ref().ok()?;
    let labels = kubeadm::CONTROL_PLANE_LABELS.map(|label| (label.to_owned(), String::new()));
    Some(NodeChange {
        labels: set(labels.into()),
        taints: kubeadm::control_plane_taints(spec, observed.is_initializer()),
        ..NodeChange::default()
    })
}

/// Whether its Node is not the recorded one, and still lacks kubeadm's marks.
pub fn lacks_marks(observed: &Observed, node: &NodeView) -> bool {
    kubeadm_marks(observed).is_some() && differs(&wanted(observed), node)
}

/// Both; what the first says counts.
fn with(mut first: NodeChange, second: NodeChange) -> NodeChange {
    for (label, value) in second.labels {
        first.labels.entry(label).or_insert(value);
    }
    for taint in second.taints {
        let is_same = |own: &Taint| own.key == taint.key && own.effect == taint.effect;
        if !first.taints.iter().any(is_same) {
            first.taints.push(taint);
        }
    }
    first
}

/// Whether the Node lacks any of it.
pub(super) fn differs(wanted: &NodeChange, node: &NodeView) -> bool {
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
