//! MachineSet: a number of Machines of one template.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meta::MachineTemplate;

/// Keeps a number of Machines of one template.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "cluster.k8s.io",
    version = "v1alpha1",
    kind = "MachineSet",
    namespaced,
    status = "MachineSetStatus",
    shortname = "ms",
    category = "cluster-api",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".metadata.labels.cluster\\.k8s\\.io/cluster-name"}"#,
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".spec.replicas"}"#,
    printcolumn = r#"{"name":"Current","type":"integer","jsonPath":".status.replicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyReplicas"}"#,
    printcolumn = r#"{"name":"Available","type":"integer","jsonPath":".status.availableReplicas"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".spec.template.spec.versions.kubelet"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(super::schema::SELECTOR_MATCHES).message(Message::Expression(super::schema::selector_message())).field_path(".selector"))]
#[x_kube(validation = Rule::new(super::schema::SELECTOR_NOT_EMPTY).message(super::schema::SELECTOR_EMPTY_MESSAGE).field_path(".selector"))]
pub struct MachineSetSpec {
    /// Desired number of Machines.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10000))]
    pub replicas: i32,
    /// How long a Machine must be Ready before it counts as available, in seconds.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: i32,
    /// Which Machines are deleted first when the set is scaled down.
    #[serde(default)]
    pub delete_policy: DeletePolicy,
    /// Which Machines belong to the set; the template's labels must satisfy it.
    #[schemars(schema_with = "super::schema::fixed_selector")]
    pub selector: LabelSelector,
    /// Template from which Machines are created.
    pub template: MachineTemplate,
}

fn one() -> i32 {
    1
}

/// Which Machines are deleted first when a set is scaled down. Before any of these: those that are being deleted,
/// those marked `cluster.k8s.io/delete-machine`, and those that are not healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletePolicy {
    /// In the order of a hash of the UID: no preference, and the same answer every time.
    #[default]
    Random,
    /// The youngest first.
    Newest,
    /// The oldest first.
    Oldest,
}

/// Observed state of a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetStatus {
    /// Machines of the set.
    #[serde(default)]
    pub replicas: i32,
    /// Machines that have all labels of the template.
    #[serde(default)]
    pub fully_labeled_replicas: i32,
    /// Machines whose Node is Ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Machines that have been Ready for `minReadySeconds`.
    #[serde(default)]
    pub available_replicas: i32,
    /// Machines that failed, or whose Node has not been Ready for five minutes.
    #[serde(default)]
    pub unhealthy_replicas: i32,
    /// Machines that have no Node yet.
    #[serde(default)]
    pub starting_replicas: i32,
    /// Machines that are being deleted; the other counters do not include them.
    #[serde(default)]
    pub terminating_replicas: i32,
    /// When a Machine of the set was last created, became Ready or was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_progress_time: Option<Time>,
    /// The selector in its string form, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions, each with a reason and a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Reason of a terminal error, in CamelCase (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    /// Human-readable message of a terminal error (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}
