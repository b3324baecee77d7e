//! Hypervisor: a machine with libvirt, reached through its gateway.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::SecretRef;

/// A machine with libvirt, on which Machines are created as virtual machines. The manager talks to `tatara-gateway`,
/// which runs beside its libvirtd; `hypervisorSelector` of a Machine matches the labels of the Hypervisor.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema,
)]
#[kube(
    group = "tatara.dev",
    version = "v1alpha1",
    kind = "Hypervisor",
    namespaced,
    status = "HypervisorStatus",
    shortname = "hv",
    category = "cluster-api",
    derive = "PartialEq",
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"CPUs","type":"integer","jsonPath":".status.allocatable.cpus"}"#,
    printcolumn = r#"{"name":"Used","type":"integer","jsonPath":".status.allocated.cpus"}"#,
    printcolumn = r#"{"name":"Memory","type":"string","jsonPath":".status.allocatable.memory"}"#,
    printcolumn = r#"{"name":"Used","type":"string","jsonPath":".status.allocated.memory"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"URL","type":"string","priority":1,"jsonPath":".spec.url"}"#,
    printcolumn = r#"{"name":"Acceleration","type":"string","priority":1,"jsonPath":".status.acceleration"}"#,
    printcolumn = r#"{"name":"Message","type":"string","priority":1,"jsonPath":".status.message"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorSpec {
    /// URL of its gateway, such as `https://10.0.0.5:8774`.
    #[schemars(schema_with = "super::schema::https_url")]
    pub url: String,
    /// Secret of type `tatara.dev/gateway`: `ca.crt`, the authority of the gateway's certificate; and
    /// `token`, or `tls.crt` and `tls.key`, which the manager presents.
    pub credentials_ref: SecretRef,
    /// Failure domain of the Hypervisor, such as a rack or a room; the control planes of a Cluster are spread over
    /// them, and so are its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,
    /// While true, no virtual machine is created on it; existing ones stay.
    #[serde(default)]
    pub maintenance: bool,
}

/// Observed state of a hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorStatus {
    /// Registering, Available, Maintenance or Unreachable: a summary for people; conditions are authoritative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why no virtual machine is created on it, in CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same, human-readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Resources that virtual machines may use, including overcommitment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<HypervisorResources>,
    /// Resources that virtual machines use, including those that Tatara did not create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<HypervisorResources>,
    /// `kvm`, or `none` where processors are emulated in software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceleration: Option<String>,
    /// Number of Machines that are placed on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<i64>,
    /// Conditions: Ready, Reachable, Available, `MachinesKnown`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The newest `metadata.generation` that was acted upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// An amount of processors and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorResources {
    /// Virtual processors.
    pub cpus: i64,
    /// Memory, such as `12Gi`.
    pub memory: String,
}
