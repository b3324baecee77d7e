//! Machine: one node of a cluster, from claim to release.

use k8s_openapi::api::core::v1::{NodeAddress, ObjectReference, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine_stage::{ReportedChange, ReportedStage, TurnRequest};
use super::meta::EmbeddedMeta;
use super::provider_schema::{is_full, is_ours, no_full_version, ours_only};
use super::provider_spec::ProviderSpec;
use super::whys::ReportedWhy;

/// CEL over a Machine: its spec is ours.
const OURS: &str = is_ours!("self.spec");
/// CEL: the version of the kubelet in the block beside `spec`.
const ALIAS_KUBELET: &str = "(has(self.versions.kubelet) ? self.versions.kubelet : '')";
/// CEL: the version of the control plane there.
const ALIAS_CONTROL_PLANE: &str =
    "(has(self.versions.controlPlane) ? self.versions.controlPlane : '')";
/// CEL: the two blocks of versions say the same.
const BLOCKS_AGREE: &str = "!has(self.versions) || !has(self.spec.versions) || \
((has(self.versions.kubelet) ? self.versions.kubelet : '') == (has(self.spec.versions.kubelet) ? self.spec.versions.kubelet : '') && \
(has(self.versions.controlPlane) ? self.versions.controlPlane : '') == (has(self.spec.versions.controlPlane) ? self.spec.versions.controlPlane : ''))";
/// CEL: the message if they differ.
const BLOCKS_DIFFER: &str = "'versions is set beside spec (kubelet ' + (has(self.versions.kubelet) ? self.versions.kubelet : '') + \
(has(self.versions.controlPlane) ? ', controlPlane ' + self.versions.controlPlane : '') + ') and inside it (kubelet ' + \
(has(self.spec.versions.kubelet) ? self.spec.versions.kubelet : '') + \
(has(self.spec.versions.controlPlane) ? ', controlPlane ' + self.spec.versions.controlPlane : '') + '), and they differ; \
keep spec.versions and remove the other'";
/// CEL over a Machine's spec: it is ours.
const OUR_SPEC: &str = is_ours!("self");
/// CEL: the version of the kubelet in a Machine's spec.
const KUBELET: &str = "(has(self.versions.kubelet) ? self.versions.kubelet : '')";
/// CEL: the version of the control plane there.
const CONTROL_PLANE: &str = "(has(self.versions.controlPlane) ? self.versions.controlPlane : '')";

/// One node of a cluster. It is a control-plane node if and only if `versions.controlPlane` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(BLOCKS_AGREE).message(Message::Expression(BLOCKS_DIFFER.into())).field_path(".versions"))]
#[x_kube(validation = Rule::new(ours_only(OURS, "has(self.versions) || has(self.spec.versions)"))
    .message("missing; set spec.versions.kubelet, such as v1.36.3").field_path(".spec.versions"))]
#[x_kube(validation = Rule::new(ours_only(OURS, &format!("!has(self.versions) || {}", is_full(ALIAS_KUBELET))))
    .message(Message::Expression(no_full_version(ALIAS_KUBELET))).field_path(".versions.kubelet"))]
#[x_kube(validation = Rule::new(ours_only(OURS, &format!("!has(self.versions) || {ALIAS_CONTROL_PLANE} == '' || {}", is_full(ALIAS_CONTROL_PLANE))))
    .message(Message::Expression(no_full_version(ALIAS_CONTROL_PLANE))).field_path(".versions.controlPlane"))]
pub struct Machine {
    /// Always `cluster.k8s.io/v1alpha1`.
    #[serde(default = "api_version")]
    pub api_version: String,
    /// Always `Machine`.
    #[serde(default = "kind")]
    pub kind: String,
    /// Standard object metadata.
    #[schemars(schema_with = "super::schema::any_object")]
    pub metadata: ObjectMeta,
    /// Desired state of the machine.
    pub spec: MachineSpec,
    /// Alias of `spec.versions`, as widely published examples of 2019 have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<MachineVersions>,
    /// Observed state of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MachineStatus>,
}

super::resource::cluster_resource!(Machine, "machines");

fn api_version() -> String {
    format!("{}/{}", super::CLUSTER_GROUP, super::VERSION)
}
fn kind() -> String {
    "Machine".into()
}

/// Whether two texts name one version, with or without its v.
pub fn is_same_version(one: &str, other: &str) -> bool {
    one.trim_start_matches('v') == other.trim_start_matches('v')
}

impl Machine {
    /// A Machine of this name and spec.
    pub fn new(name: &str, spec: MachineSpec) -> Self {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        Self {
            api_version: api_version(),
            kind: kind(),
            metadata,
            spec,
            versions: None,
            status: None,
        }
    }

    /// The desired versions: `spec.versions`, or the block beside `spec`.
    pub fn versions(&self) -> Option<&MachineVersions> {
        self.spec.versions.as_ref().or(self.versions.as_ref())
    }

    /// Whether it was seen to run other versions than its spec wants; `None` for one of which no version was seen.
    pub fn runs_other(&self) -> Option<bool> {
        let runs = self.status.as_ref()?.versions.as_ref()?;
        let wanted = self.versions()?;
        let planes = runs
            .control_plane
            .as_deref()
            .zip(wanted.control_plane.as_deref());
        Some(
            !is_same_version(&runs.kubelet, &wanted.kubelet)
                || planes.is_some_and(|(runs, wanted)| !is_same_version(runs, wanted)),
        )
    }

    /// Whether a controller owns it: its MachineSet, which replaces it.
    pub fn is_owned(&self) -> bool {
        let mut owners = self.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true))
    }

    /// Whether this is a control-plane machine.
    pub fn is_control_plane(&self) -> bool {
        self.versions()
            .is_some_and(|v| v.control_plane.as_deref().is_some_and(|c| !c.is_empty()))
    }
}

/// Desired state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(ours_only(OUR_SPEC, &format!("!has(self.versions) || {}", is_full(KUBELET))))
    .message(Message::Expression(no_full_version(KUBELET))).field_path(".versions.kubelet"))]
#[x_kube(validation = Rule::new(ours_only(OUR_SPEC, &format!("!has(self.versions) || {CONTROL_PLANE} == '' || {}", is_full(CONTROL_PLANE))))
    .message(Message::Expression(no_full_version(CONTROL_PLANE))).field_path(".versions.controlPlane"))]
pub struct MachineSpec {
    /// Labels, annotations and name of the Node.
    #[serde(default)]
    pub metadata: EmbeddedMeta,
    /// Taints that the Node must have; its other taints stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::taints")]
    pub taints: Vec<Taint>,
    /// Where the machine comes from, and how it is prepared.
    #[serde(default)]
    pub provider_spec: ProviderSpec,
    /// Name of `providerSpec` until 2018. Accepted from other providers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::provider_schema::provider_config")]
    pub provider_config: Option<Value>,
    /// Versions of Kubernetes on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<MachineVersions>,
    /// Accepted as in 2019 and reported as ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub config_source: Option<Value>,
    /// Identity of the machine at its provider; written by the controller.
    #[serde(
        default,
        rename = "providerID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 512))]
    pub provider_id: Option<String>,
    /// Time limits of the deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
}

/// Versions of Kubernetes on a machine. `1.36.3` and `v1.36.3` mean the same; a vendor's build has a suffix, such as
/// `v1.36.3+vendor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineVersions {
    /// Version of the kubelet.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub kubelet: String,
    /// Version of the control plane; its presence makes this a control-plane machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub control_plane: Option<String>,
}

/// Time limits of a deletion, in seconds. Zero or absent waits without limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeletion {
    /// How long the eviction of pods may take, from its beginning; then the machine is released with the pods that are left,
    /// and volumes are not waited for. 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub node_drain_timeout_seconds: Option<i64>,
    /// How long volumes may stay attached before the machine is released anyway, from the end of the drain. 0 or absent: no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub node_volume_detach_timeout_seconds: Option<i64>,
    /// How long a host that does not answer, or whose reset fails, is waited for; then the Machine is removed,
    /// and its pods may start elsewhere. Set it only if you are sure that the server is off. The Host stays
    /// quarantined until it is reset, and the control-plane turn stays with the Machine. 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub host_release_timeout_seconds: Option<i64>,
}

/// Observed state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// The Node, once it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<ObjectReference>,
    /// When the status last changed (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// Versions that the Node reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<MachineVersions>,
    /// Reason of a terminal error, in CamelCase (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    /// Human-readable message of a terminal error (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Copy of `errorReason`, under the name that the stock cluster-autoscaler reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Copy of `errorMessage`, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Accepted as in 2019; Tatara writes nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub provider_status: Option<Value>,
    /// Addresses of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<NodeAddress>,
    /// Conditions, each with a reason and a message.
    #[serde(
        default,
        deserialize_with = "super::conditions::as_far_as_they_are",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(schema_with = "super::provider_schema::machine_conditions")]
    pub conditions: Vec<Condition>,
    /// What needs a person, the most urgent first: a short copy of some of the conditions, which MachineSet, MachineDeployment
    /// and Cluster repeat. Whether the Machine is well is in `conditions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub whys: Vec<ReportedWhy>,
    /// The step that ran last (2019 API).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// Pending, Provisioning, Bootstrapping, Running, Deleting or Failed; `NotReady` or Unknown according to its Node:
    /// a summary for people; conditions are authoritative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Where it is in its life, and for how long it is worked on there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<ReportedStage>,
    /// What is done to a running machine beside that, or is about to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ReportedChange>,
    /// What it asks the turn of its control plane for. The planner of the Cluster gives it to one Machine at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_request: Option<TurnRequest>,
    /// When `BootstrapReady` was True first: kubeadm and the commands after it had succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapped_at: Option<Time>,
    /// The `metadata.generation` for which what runs was found to be what is wanted, or was left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_generation: Option<i64>,
    /// When `change`, `bootstrappedAt` and `settledGeneration` were written last. Where that is not `lastUpdated`, an older release
    /// wrote since, and its conditions count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<Time>,
    /// Name of the Host or virtual machine that this Machine runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The step that ran last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// What it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// Processing, Failed or Successful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Create, Update or Delete.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}
