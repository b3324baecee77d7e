//! The object in a Machine's `providerSpec.value`, decoded strictly: a misspelt field is an error that names it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::libvirt_machine_provider_spec::LibvirtMachineProviderSpec;
use super::ownership::is_our_group;

/// A machine's provider spec, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineProviderSpec {
    /// A bare-metal server or ready-made virtual machine, reached over SSH.
    Ssh(Box<SshMachineProviderSpec>),
    /// A virtual machine that Tatara creates on a Hypervisor.
    Libvirt(Box<LibvirtMachineProviderSpec>),
    /// A machine in the manager's memory, for trials and scale tests.
    Simulated(SimulatedMachineProviderSpec),
}

/// Why a provider spec could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderSpecError {
    /// Nothing was given.
    #[error("spec.providerSpec has neither value nor valueFrom.machineClass; set one of them")]
    Missing,
    /// Not one of our kinds, in a Machine that is ours all the same.
    #[error(
        "spec.providerSpec.value is {api_version} {kind}, which is not Tatara's; write tatara.dev/v1alpha1 SSHMachineProviderSpec, LibvirtMachineProviderSpec or SimulatedMachineProviderSpec"
    )]
    Foreign {
        /// The object's `apiVersion`.
        api_version: String,
        /// The object's `kind`.
        kind: String,
    },
    /// Of our group, but no kind that this release knows.
    #[error(
        "spec.providerSpec.value is {api_version} {kind}, which this release of Tatara does not know; write tatara.dev/v1alpha1 SSHMachineProviderSpec, LibvirtMachineProviderSpec or SimulatedMachineProviderSpec"
    )]
    Unknown {
        /// The object's `apiVersion`.
        api_version: String,
        /// The object's `kind`.
        kind: String,
    },
    /// One of ours, but wrong inside.
    #[error("spec.providerSpec.value ({kind}): {problem}")]
    Invalid {
        /// The object's `kind`.
        kind: String,
        /// Which field, and what about it.
        problem: String,
    },
}

impl MachineProviderSpec {
    /// Decodes a provider's object; `apiVersion` and `kind` determine its type.
    ///
    /// # Errors
    /// It is not of a kind that this release knows, or a field is unknown, missing or invalid.
    pub fn decode(value: &Value) -> Result<Self, ProviderSpecError> {
        let text = |field: &str| {
            value
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or("(none)")
                .to_owned()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let invalid = |problem: String| ProviderSpecError::Invalid {
            kind: kind.clone(),
            problem,
        };
        if !is_our_group(&api_version) {
            return Err(ProviderSpecError::Foreign { api_version, kind });
        }
        match kind.as_str() {
            _ if api_version != "tatara.dev/v1alpha1" => {
                Err(ProviderSpecError::Unknown { api_version, kind })
            }
            "SSHMachineProviderSpec" => strict(value)
                .map(|spec| Self::Ssh(Box::new(spec)))
                .map_err(invalid),
            "LibvirtMachineProviderSpec" => strict::<LibvirtMachineProviderSpec>(value)
                .and_then(|spec| match spec.problem() {
                    Some(problem) => Err(problem),
                    None => Ok(Self::Libvirt(Box::new(spec))),
                })
                .map_err(invalid),
            "SimulatedMachineProviderSpec" => strict(value).map(Self::Simulated).map_err(invalid),
            _ => Err(ProviderSpecError::Unknown { api_version, kind }),
        }
    }

    /// How the node is prepared, where there is one to prepare.
    pub fn node(&self) -> Option<&NodeSettings> {
        match self {
            Self::Ssh(spec) => Some(&spec.node),
            Self::Libvirt(spec) => Some(&spec.node),
            Self::Simulated(_) => None,
        }
    }

    /// The provider's name, as it is part of provider IDs.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Ssh(_) => "ssh",
            Self::Libvirt(_) => "libvirt",
            Self::Simulated(_) => "simulated",
        }
    }
}

/// Decodes an embedded object without its type fields; an error names the path of the field.
pub(super) fn strict<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut() {
        map.remove("apiVersion");
        map.remove("kind");
        map.remove("metadata");
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        if path == "." {
            error.inner().to_string()
        } else {
            format!("{path}: {}", error.inner())
        }
    })
}

/// A machine that is a Host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SshMachineProviderSpec {
    /// Labels of the Hosts that may be claimed. Empty matches any.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::label_selector")]
    pub host_selector: LabelSelector,
    /// Minimum requirements of a Host.
    #[serde(default)]
    pub requirements: HostRequirements,
    /// Only Hosts of this failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// How the node is prepared.
    #[serde(default)]
    pub node: NodeSettings,
}

/// Minimum requirements of a Host, compared with `status.facts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostRequirements {
    /// Logical processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<i64>,
    /// Memory, such as `8Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// Free space on the file system of /var/lib, such as `40Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Quantity>,
    /// Architecture as Go names it: amd64, arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// A machine in the manager's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SimulatedMachineProviderSpec {
    /// Time from creation until its Node registers, in milliseconds.
    #[serde(default)]
    pub boot_milliseconds: u64,
    /// Time from deletion until it no longer exists, in milliseconds.
    #[serde(default)]
    pub delete_milliseconds: u64,
    /// Time after registration until its Node is Ready, in milliseconds.
    #[serde(default)]
    pub ready_milliseconds: u64,
    /// Time until it runs another version, in milliseconds.
    #[serde(default)]
    pub update_milliseconds: u64,
    /// If set, the machine never boots and reports this error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<String>,
}

/// How a node is prepared; the specs of all providers of real machines have this section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSettings {
    /// How kubelet, kubeadm and kubectl get onto the machine.
    #[serde(default)]
    pub software: Software,
    /// Proxy for package downloads and for containerd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Mirrors of container registries: registry name to mirror URLs, tried in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registry_mirrors: BTreeMap<String, Vec<String>>,
    /// Files written before anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NodeFile>,
    /// Shell commands run as root before kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_kubeadm_commands: Vec<String>,
    /// Shell commands run as root after kubeadm. Until all have succeeded the Machine is not ready, and
    /// they are run again: each may be run more than once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_kubeadm_commands: Vec<String>,
}

/// How kubelet, kubeadm and kubectl get onto the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Software {
    /// Where they come from.
    #[serde(default)]
    pub source: SoftwareSource,
    /// Base URL with the upstream release layout and checksums
    /// (`<base>/release/v1.36.3/bin/linux/amd64/kubeadm` and `.sha256`). For `mirror`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<String>,
    /// URLs of image archives to import (`docker save` form), each with its sha256 as `#sha256=…`. They are
    /// imported when a machine is prepared, and when its versions or settings are updated in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_archives: Vec<String>,
}

/// Where kubelet, kubeadm and kubectl come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SoftwareSource {
    /// They are on the machine already, in the wanted version.
    #[default]
    Preinstalled,
    /// From the repository of Kubernetes packages that the machine is set up with, or pkgs.k8s.io.
    Packages,
    /// Binaries from an HTTP(S) server, checked against their checksums.
    Mirror,
}

/// Proxy settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proxy {
    /// Proxy for http.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// Proxy for https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// Names and ranges that are reached without the proxy; those of the cluster are added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_proxy: Vec<String>,
}

/// A file on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeFile {
    /// Absolute path.
    pub path: String,
    /// Permission bits in octal, such as "0644".
    #[serde(default = "file_mode")]
    pub mode: String,
    /// The text of the file.
    pub content: String,
}

fn file_mode() -> String {
    "0644".into()
}
