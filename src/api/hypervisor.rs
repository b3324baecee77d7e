//! Hypervisor: a machine with libvirt, reached through its gateway.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::SecretRef;

/// A machine with libvirt, on which Machines are made as virtual machines. `tatara-gateway` runs beside
/// its libvirtd and is what we talk to; its labels are what `hypervisorSelector` matches.
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
    /// Where its gateway answers, such as `https://10.0.0.5:8774`.
    #[schemars(schema_with = "super::schema::https_url")]
    pub url: String,
    /// Secret of type `tatara.dev/gateway`: `ca.crt`, the authority of the gateway's certificate; and
    /// `token`, or `tls.crt` and `tls.key`, which we show.
    pub credentials_ref: SecretRef,
    /// Where it stands (a rack, a room); Machines of one cluster are spread over these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,
    /// While true, no virtual machine is put on it; those that are there stay.
    #[serde(default)]
    pub maintenance: bool,
}

/// What was observed of a hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorStatus {
    /// Registering, Available, Maintenance or Unreachable: a summary for people; conditions are the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why nothing is put on it, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What may be given to virtual machines, overcommitment counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<HypervisorResources>,
    /// What is given to virtual machines, those of others as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<HypervisorResources>,
    /// `kvm`, or `none` where processors are emulated in software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceleration: Option<String>,
    /// Virtual machines of ours on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<i64>,
    /// What holds and what does not, and why: Ready, Reachable, Available, `MachinesKnown`.
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
