//! ClusterProfile of SIG Multicluster (KEP-4322), as cluster-inventory-api v0.1.3 defines it.
//! Foreign: we publish into it, and never own its definition.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who manages the member cluster, and what it is called.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterProfile",
    namespaced,
    status = "ClusterProfileStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileSpec {
    /// Human-readable name of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Who writes this object. Immutable.
    pub cluster_manager: ClusterManager,
}

/// Who writes a ClusterProfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterManager {
    /// Name, equal to the label `x-k8s.io/cluster-manager`.
    pub name: String,
}

/// What was detected of the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileStatus {
    /// `ControlPlaneHealthy` and `Joined`, each with a reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Versions of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ProfileVersion>,
    /// The member's ClusterProperties, and facts that we observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// How consumers reach the member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_providers: Vec<AccessProvider>,
}

/// Versions of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileVersion {
    /// `gitVersion` of its API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// A property of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Property {
    /// Name, such as `cluster.clusterset.k8s.io`.
    pub name: String,
    /// Value, 1 to 1024 bytes.
    pub value: String,
}

/// A way to reach a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessProvider {
    /// Name that consumers look for, such as `kubeconfig-secretreader`.
    pub name: String,
    /// A kubeconfig v1 `Cluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<AccessCluster>,
}

/// The parts of a kubeconfig v1 `Cluster` that consumers read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AccessCluster {
    /// `https://host:port`; the serving certificate carries the host.
    pub server: String,
    /// Base64 of the PEM of the member's CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// Data for the consumer's exec plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AccessExtension>,
}

/// Data for a consumer's exec plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessExtension {
    /// `client.authentication.k8s.io/exec`.
    pub name: String,
    /// The data.
    #[schemars(schema_with = "super::schema::any_object")]
    pub extension: Value,
}
