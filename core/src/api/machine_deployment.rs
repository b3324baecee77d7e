//! MachineDeployment: steps MachineSets from one template to the next.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meta::MachineTemplate;
use super::whys::ReportedWhy;

/// Keeps a number of Machines, and rolls them to a new template one step at a time.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "cluster.k8s.io",
    version = "v1alpha1",
    kind = "MachineDeployment",
    namespaced,
    status = "MachineDeploymentStatus",
    shortname = "md",
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
    printcolumn = r#"{"name":"Up-to-date","type":"integer","jsonPath":".status.updatedReplicas"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".spec.template.spec.versions.kubelet"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(super::schema::SELECTOR_MATCHES).message(Message::Expression(super::schema::selector_message())).field_path(".selector"))]
#[x_kube(validation = Rule::new(super::schema::SELECTOR_NOT_EMPTY).message(super::schema::SELECTOR_EMPTY_MESSAGE).field_path(".selector"))]
#[x_kube(validation = Rule::new(super::schema::LIMIT_FITS).message(super::schema::LIMIT_FITS_MESSAGE).field_path(".strategy"))]
#[x_kube(validation = Rule::new(super::schema::CAN_UPDATE_IN_PLACE).message(super::schema::CAN_UPDATE_IN_PLACE_MESSAGE).field_path(".strategy.inPlace"))]
#[x_kube(validation = Rule::new(super::schema::CONTROL_PLANE_STAYS).message(super::schema::CONTROL_PLANE_STAYS_MESSAGE).field_path(".replicas"))]
#[x_kube(validation = Rule::new(super::schema::ROLE_STAYS).message(super::schema::ROLE_STAYS_MESSAGE).field_path(".template.spec.versions"))]
#[x_kube(validation = Rule::new(super::schema::CAN_ROLL).message(super::schema::CAN_ROLL_MESSAGE).field_path(".strategy.rollingUpdate"))]
pub struct MachineDeploymentSpec {
    /// Desired number of Machines.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10000))]
    pub replicas: i32,
    /// Which Machines belong to the deployment; the template's labels must satisfy it.
    #[schemars(schema_with = "super::schema::fixed_selector")]
    pub selector: LabelSelector,
    /// Template from which Machines are created.
    pub template: MachineTemplate,
    /// How Machines of an old template are replaced.
    #[serde(default)]
    pub strategy: Strategy,
    /// How long a Machine must be Ready before it counts as available, in seconds.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: i32,
    /// Number of old MachineSets without Machines that are kept for a rollback.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: i32,
    /// While true, no rollout happens; scaling continues.
    #[serde(default)]
    pub paused: bool,
    /// Seconds without progress after which the condition `Progressing` turns False.
    #[serde(default = "progress_deadline")]
    #[schemars(range(min = 0))]
    pub progress_deadline_seconds: i32,
}

fn one() -> i32 {
    1
}
fn progress_deadline() -> i32 {
    600
}

/// How Machines of an old template are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// Kind of rollout.
    #[serde(default, rename = "type")]
    pub type_: StrategyType,
    /// Limits of a RollingUpdate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// Limit of an in-place rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
}

/// Kind of rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// New Machines are created and old ones deleted, within maxSurge and maxUnavailable.
    #[default]
    RollingUpdate,
    /// A Machine is replaced when a user deletes it.
    OnDelete,
    /// Machines keep name and host, and are brought to other versions there. Only `versions` and `node.software` of the
    /// provider spec may change.
    InPlace,
}

/// Limits of a RollingUpdate: numbers, or percentages of the desired replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many Machines may be unavailable during the rollout; a percentage is rounded down. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::int_or_percent")]
    pub max_unavailable: Option<IntOrString>,
    /// How many Machines may exist beyond the desired number; a percentage is rounded up. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::int_or_percent")]
    pub max_surge: Option<IntOrString>,
}

/// Limit of an in-place rollout: a number, or a percentage of the desired replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlace {
    /// How many Machines may be unavailable during the rollout, so at most how many are updated at once; a percentage is
    /// rounded down, to 1 at least. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::int_or_percent")]
    pub max_unavailable: Option<IntOrString>,
}

/// Observed state of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentStatus {
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Machines of all sets.
    #[serde(default)]
    pub replicas: i32,
    /// Machines of the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Machines whose Node is Ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Machines that have been Ready for `minReadySeconds`.
    #[serde(default)]
    pub available_replicas: i32,
    /// Desired Machines that are not available.
    #[serde(default)]
    pub unavailable_replicas: i32,
    /// The selector in its string form, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Since when work is pending: `progressDeadlineSeconds` counts from here, or from the last Machine that was
    /// created, became Ready or was deleted. Absent while the desired state is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_since: Option<Time>,
    /// ScalingUp, ScalingDown, RollingOut or Running: a summary for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Conditions, each with a reason and a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// What needs a person before it is Ready: a short copy of its condition, which the Cluster repeats where the template
    /// cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub whys: Vec<ReportedWhy>,
}
