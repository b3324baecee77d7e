//! Cluster: one Kubernetes cluster, its networks, and where its API is served.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::{ConditionType, Reason, find};
use super::machine_stage::TurnRequest;
use super::provider_spec::ProviderSpec;

/// A Kubernetes cluster: its networks, how its API is reached, what is installed in it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "cluster.k8s.io",
    version = "v1alpha1",
    kind = "Cluster",
    namespaced,
    status = "ClusterStatus",
    shortname = "cl",
    category = "cluster-api",
    derive = "PartialEq",
    validation = Rule::new("oldSelf.hasValue() || size(self.metadata.name) <= 63").optional_old_self(true)
        .message("metadata.name has more than 63 characters; use a shorter one: it is the value of the label cluster.k8s.io/cluster-name on its Machines"),
    selectable = ".status.phase",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Endpoint","type":"string","jsonPath":".status.endpoint"}"#,
    printcolumn = r#"{"name":"CP Desired","type":"integer","jsonPath":".status.controlPlane.desired"}"#,
    printcolumn = r#"{"name":"CP Ready","type":"integer","jsonPath":".status.controlPlane.ready"}"#,
    printcolumn = r#"{"name":"W Desired","type":"integer","jsonPath":".status.workers.desired"}"#,
    printcolumn = r#"{"name":"W Ready","type":"integer","jsonPath":".status.workers.ready"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.version"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Networks of the cluster. Fixed once the control plane is initialised.
    pub cluster_network: ClusterNetwork,
    /// Tatara's settings: a `tatara.dev/v1alpha1 ClusterProviderSpec` in `value`.
    #[serde(default)]
    pub provider_spec: ProviderSpec,
    /// Name of `providerSpec` until 2018. Accepted from other providers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::provider_schema::provider_config")]
    pub provider_config: Option<Value>,
}

impl Cluster {
    /// Whether its control plane was somebody else's when that was last found out.
    pub fn was_external(&self) -> bool {
        let conditions = self.status.as_ref().map(|status| &status.conditions);
        let made = conditions.and_then(|all| find(all, ConditionType::ControlPlaneInitialized));
        made.is_some_and(|made| made.reason == Reason::ExternalControlPlane)
    }
}

/// Networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "self.pods.cidrBlocks.all(p, !isCIDR(p) || self.services.cidrBlocks.all(s, !isCIDR(s) || !(cidr(p).containsCIDR(s) || cidr(s).containsCIDR(p))))"
).message(Message::Expression("'pods.cidrBlocks ' + self.pods.cidrBlocks.join(', ') + ' and services.cidrBlocks ' + self.services.cidrBlocks.join(', ') + ' overlap; give them ranges that share no address, such as 10.244.0.0/16 and 10.96.0.0/16'".into())))]
#[x_kube(validation = Rule::new(
    "self.services.cidrBlocks.all(s, !isCIDR(s) || cidr(s).prefixLength() >= (cidr(s).ip().family() == 4 ? 12 : 108))"
).message(Message::Expression("'services.cidrBlocks ' + self.services.cidrBlocks.join(', ') + ' is larger than kube-apiserver takes; use at most a /12 of IPv4 and a /108 of IPv6'".into())))]
pub struct ClusterNetwork {
    /// Addresses of Services.
    pub services: NetworkRanges,
    /// Addresses of pods.
    pub pods: NetworkRanges,
    /// DNS domain of Services, such as `cluster.local`.
    #[schemars(schema_with = "super::schema::dns_domain")]
    pub service_domain: String,
}

/// Address ranges in CIDR notation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRanges {
    /// One range, or one of each family.
    #[schemars(schema_with = "super::schema::cidr_blocks")]
    pub cidr_blocks: Vec<String>,
}

/// Observed state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Endpoints of the cluster's API (2019 API).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_endpoints: Vec<ApiEndpoint>,
    /// `host:port` of the API, for the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Pending, Provisioning, Running or Deleting: a summary for people; conditions are authoritative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `gitVersion` of the cluster's API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Counts of the control-plane Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<MachineCounts>,
    /// Counts of the worker Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<MachineCounts>,
    /// Who has the control-plane turn, and since when: for people. What counts is the annotation `tatara.dev/control-plane-turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_turn: Option<HeldTurn>,
    /// What the Cluster itself asks the turn of its control plane for: to remove an etcd member that belongs to no Machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_request: Option<TurnRequest>,
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
    /// Accepted as in 2019; Tatara writes nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub provider_status: Option<Value>,
}

/// An address at which the API is served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiEndpoint {
    /// IP address or DNS name.
    pub host: String,
    /// TCP port.
    pub port: i32,
}

/// Number of Machines, and of those that are Ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCounts {
    /// Machines that are not being deleted.
    pub desired: i32,
    /// Machines whose Node is Ready.
    pub ready: i32,
}

/// The control-plane turn that somebody has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldTurn {
    /// Name of the Machine that has it; of the Cluster, while a member of its etcd that belongs to no Machine is removed.
    pub name: String,
    /// What for: init, join, remove (of an etcd member) or upgrade.
    pub action: String,
    /// Since when, as the manager saw it. One that was returned and taken again within seconds counts as one.
    pub since: Time,
}

/// The control-plane turn: init, join, member removal and upgrade happen one at a time per cluster.
/// Kept in the annotation [`super::names::ANNOTATION_TURN`] of the Cluster and of its CA Secret, moved by
/// compare-and-swap only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// UID of the Machine that holds the turn.
    pub machine: String,
    /// Its name, for people.
    pub name: String,
    /// The operation for which the Machine holds the turn.
    pub action: TurnAction,
}

impl Turn {
    /// Whether it is for a change that comes after `kubeadm init`: there is a control plane.
    pub fn is_later(&self) -> bool {
        self.action != TurnAction::Init
    }
}

/// The operation that a turn permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnAction {
    /// `kubeadm init`: moves to another machine only on proof that it did not and will not happen.
    Init,
    /// `kubeadm join --control-plane`.
    Join,
    /// Removal of an etcd member before its machine is deleted.
    Remove,
    /// `kubeadm upgrade`, which replaces the static pods of its machine, until its Node is updated.
    Upgrade,
}

impl TurnAction {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Init, Self::Join, Self::Remove, Self::Upgrade];

    /// As it is written in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Join => "join",
            Self::Remove => "remove",
            Self::Upgrade => "upgrade",
        }
    }

    /// The one of this name; `None` for one that this release does not have.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }
}
