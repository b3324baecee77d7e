//! The object in a Cluster's `providerSpec.value`: `tatara.dev/v1alpha1 ClusterProviderSpec`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::machine_provider_spec::strict;

/// Most addons of a cluster: each is an object that is read.
const ADDONS: usize = 64;

/// Tatara's settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterProviderSpec {
    /// Endpoint of the cluster's API. Default: the address of the first control-plane machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ControlPlaneEndpoint>,
    /// Parts of kubeadm's configuration (v1beta4), merged over Tatara's.
    #[serde(default)]
    pub kubeadm: KubeadmSettings,
    /// Parts of a `kubelet.config.k8s.io/v1beta1 KubeletConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub kubelet_configuration: Map<String, Value>,
    /// Parts of a `kubeproxy.config.k8s.io/v1alpha1 KubeProxyConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub kube_proxy_configuration: Map<String, Value>,
    /// Manifests that are applied once the API answers, in order, and again when they change.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub addons: Vec<Addon>,
    /// Where ClusterProfiles are published.
    #[serde(default)]
    pub profile: ProfileSettings,
}

/// Endpoint of a cluster's API, and what holds that address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPlaneEndpoint {
    /// IP address or DNS name.
    pub host: String,
    /// TCP port.
    #[serde(default = "api_port")]
    pub port: u16,
    /// What holds the address.
    #[serde(default)]
    pub held_by: EndpointHolder,
    /// Settings of a virtual IP.
    #[serde(default, rename = "virtualIP")]
    pub virtual_ip: VirtualIp,
}

/// What holds the endpoint's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EndpointHolder {
    /// A component outside Tatara: a load balancer, or DNS.
    #[default]
    #[serde(rename = "external")]
    External,
    /// The control-plane machines, by VRRP (keepalived).
    #[serde(rename = "virtualIP")]
    VirtualIp,
}

/// Settings of a virtual IP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VirtualIp {
    /// Interface that carries the address. Default: the interface with the host's own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// VRRP virtual router id (RFC 9568), 1 to 255. Default: derived from the address.
    #[serde(default, rename = "routerID", skip_serializing_if = "Option::is_none")]
    pub router_id: Option<u8>,
}

/// Parts of kubeadm's configuration (v1beta4), merged over Tatara's. A field that contradicts Tatara's is refused, by its
/// name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeadmSettings {
    /// Parts of a `ClusterConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub cluster_configuration: Map<String, Value>,
    /// Parts of an `InitConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub init_configuration: Map<String, Value>,
    /// Parts of a `JoinConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub join_configuration: Map<String, Value>,
    /// Parts of an `UpgradeConfiguration`: `apply`, `node`, `timeouts`. `ignorePreflightErrors`, `imagePullPolicy` and `patches`
    /// default to those of `initConfiguration` and `joinConfiguration`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::schema::any_object")]
    pub upgrade_configuration: Map<String, Value>,
}

/// Manifests in a ConfigMap or Secret of the Cluster's namespace; every key is a YAML stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Addon {
    /// ConfigMap or Secret.
    #[serde(default)]
    pub kind: AddonKind,
    /// Name of the object.
    pub name: String,
}

/// What holds an addon's manifests.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum AddonKind {
    /// A ConfigMap.
    #[default]
    ConfigMap,
    /// A Secret.
    Secret,
}

/// Where ClusterProfiles are published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileSettings {
    /// Inventory namespaces. Default: the namespace of the Cluster. Any other namespace must be listed in the option
    /// `--profile-namespaces` of the manager.
    #[serde(default)]
    pub namespaces: Vec<String>,
}

impl ClusterProviderSpec {
    /// Decodes `spec.providerSpec.value`; absent means all defaults.
    ///
    /// # Errors
    /// The field that is wrong, and what must be written, as a message.
    pub fn decode(value: Option<&Value>) -> Result<Self, String> {
        let Some(value) = value else {
            return Ok(Self::default());
        };
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or("(none)");
        if text("apiVersion") != "tatara.dev/v1alpha1" || text("kind") != "ClusterProviderSpec" {
            return Err(format!(
                "spec.providerSpec.value is {} {}; it must be tatara.dev/v1alpha1 ClusterProviderSpec",
                text("apiVersion"),
                text("kind")
            ));
        }
        let spec: Self =
            strict(value).map_err(|problem| format!("spec.providerSpec.value: {problem}"))?;
        if spec.addons.len() > ADDONS {
            return Err(format!(
                "spec.providerSpec.value: addons has {} entries, and at most {ADDONS} are possible; put several manifests into one",
                spec.addons.len()
            ));
        }
        Ok(spec)
    }
}

fn api_port() -> u16 {
    6443
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_has_no_more_addons_than_are_read() {
        let decode = |addons: usize| {
            let addons: Vec<_> = (0..addons)
                .map(|n| json!({"name": format!("a{n}")}))
                .collect();
            let value = json!({
                "apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec", "addons": addons,
            });
            ClusterProviderSpec::decode(Some(&value)).map(|spec| spec.addons.len())
        };
        assert_eq!(decode(64), Ok(64));
        let why = decode(65).expect_err("too many");
        assert!(
            why.contains("addons has 65 entries, and at most 64"),
            "{why}"
        );
    }
}
