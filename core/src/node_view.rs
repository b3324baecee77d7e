//! What is kept of a Node: the parts that decisions use, and nothing that changes by the minute.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, Taint};
use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Status;
use crate::api::names::ANNOTATION_CORDONED;

/// A Node of a workload cluster as plain data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeView {
    /// Name of the Node.
    pub name: String,
    /// UID, so that a write never meets another Node of the same name.
    pub uid: String,
    /// When it registered.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// `spec.providerID`, by which its Machine is found.
    pub provider_id: Option<String>,
    /// Condition Ready: `None` when the workload cluster's control plane does not know (`Unknown`,
    /// or not reported yet).
    pub ready: Option<bool>,
    /// Since when Ready has its status.
    pub ready_since: Option<Timestamp>,
    /// Reason of condition Ready, such as `KubeletNotReady`.
    pub ready_reason: String,
    /// Message of condition Ready, such as "container runtime network not ready: …".
    pub ready_message: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints, without the time at which they were added.
    pub taints: Vec<Taint>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Version of its kubelet, such as `v1.36.3`.
    pub kubelet_version: String,
    /// Addresses that the kubelet reported.
    pub addresses: Vec<NodeAddress>,
    /// Volumes that the attach/detach controller holds attached.
    pub volumes_attached: Vec<String>,
    /// Volumes that the kubelet says are in use.
    pub volumes_in_use: Vec<String>,
}

/// What an entry of a list or map takes beside its text.
const PIECE: usize = 64;

impl NodeView {
    /// Whether Tatara has cordoned it: for an update or a deletion.
    pub fn is_cordoned_by_us(&self) -> bool {
        self.annotations.contains_key(ANNOTATION_CORDONED)
    }

    /// Whether ordinary pods are scheduled on it.
    pub fn takes_pods(&self) -> bool {
        let keeps_off = |effect: &str| effect == "NoSchedule" || effect == "NoExecute";
        let is_free = !self.taints.iter().any(|taint| keeps_off(&taint.effect));
        self.ready == Some(true) && !self.unschedulable && is_free
    }

    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        let pairs = self.labels.iter().chain(&self.annotations);
        let pairs = pairs.map(|(key, value)| PIECE + key.len() + value.len());
        let volumes = self.volumes_attached.iter().chain(&self.volumes_in_use);
        let volumes = volumes.map(|name| PIECE + name.len());
        let addresses = self.addresses.iter();
        let addresses = addresses.map(|a| PIECE + a.address.len() + a.type_.len());
        let taints = self.taints.iter();
        let taints = taints.map(|t| {
            let value = t.value.as_deref().unwrap_or_default();
            PIECE + t.key.len() + value.len() + t.effect.len()
        });
        let own = [
            &self.name,
            &self.uid,
            &self.ready_reason,
            &self.ready_message,
            &self.kubelet_version,
        ];
        let own: usize = own.iter().map(|text| text.len()).sum();
        size_of::<Self>()
            + own
            + self.provider_id.as_ref().map_or(0, String::len)
            + pairs
                .chain(volumes)
                .chain(addresses)
                .chain(taints)
                .sum::<usize>()
    }

    /// Reads a Node.
    pub fn from_node(node: Node) -> Self {
        let spec = node.spec.unwrap_or_default();
        let status = node.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let ready = conditions.into_iter().find(|c| c.type_ == "Ready");
        let attached = status.volumes_attached.unwrap_or_default();
        Self {
            name: node.metadata.name.unwrap_or_default(),
            uid: node.metadata.uid.unwrap_or_default(),
            created: node.metadata.creation_timestamp.map(|time| time.0),
            deleting: node.metadata.deletion_timestamp.is_some(),
            provider_id: spec.provider_id.filter(|id| !id.is_empty()),
            ready: ready.as_ref().and_then(answer),
            ready_since: ready
                .as_ref()
                .and_then(|c| c.last_transition_time.as_ref())
                .map(|t| t.0),
            ready_reason: text(ready.as_ref(), |c| c.reason.as_ref()),
            ready_message: text(ready.as_ref(), |c| c.message.as_ref()),
            labels: node.metadata.labels.unwrap_or_default(),
            annotations: node.metadata.annotations.unwrap_or_default(),
            taints: spec
                .taints
                .unwrap_or_default()
                .into_iter()
                .map(timeless)
                .collect(),
            unschedulable: spec.unschedulable.unwrap_or_default(),
            kubelet_version: status
                .node_info
                .map(|i| i.kubelet_version)
                .unwrap_or_default(),
            addresses: status.addresses.unwrap_or_default(),
            volumes_attached: attached.into_iter().map(|volume| volume.name).collect(),
            volumes_in_use: status.volumes_in_use.unwrap_or_default(),
        }
    }

    /// Whether the workload cluster's control plane lost its kubelet: nothing on it can be told to
    /// stop.
    pub fn is_unreachable(&self) -> bool {
        self.ready.is_none() && self.ready_reason == "NodeStatusUnknown"
    }

    /// Whether the step from `before` to this is one that somebody waits for. Heart-beats and
    /// annotations of other controllers are not.
    pub fn differs_meaningfully(&self, before: &Self) -> bool {
        let meaning = |view: &Self| Self {
            annotations: BTreeMap::new(),
            ready_since: None,
            ..view.clone()
        };
        meaning(self) != meaning(before)
    }
}

fn answer(condition: &NodeCondition) -> Option<bool> {
    match Status::parse(&condition.status) {
        Status::True => Some(true),
        Status::False => Some(false),
        Status::Unknown => None,
    }
}

fn text(
    condition: Option<&NodeCondition>,
    part: impl Fn(&NodeCondition) -> Option<&String>,
) -> String {
    condition.and_then(part).cloned().unwrap_or_default()
}

fn timeless(mut taint: Taint) -> Taint {
    taint.time_added = None;
    taint
}

#[cfg(test)]
#[path = "node_view_tests.rs"]
mod tests;
