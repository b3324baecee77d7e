//! Parts that several kinds share.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::MachineSpec;
use super::provider_schema::{is_ours, ours_only};

/// Metadata of an embedded object: the template of a set, or the Node of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedMeta {
    /// Name. On a Machine's `spec.metadata` this is the Node's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// Accepted as in 2019, not used: a Machine has its set's name and random letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub generate_name: Option<String>,
    /// Accepted as in 2019, not used: a set creates Machines in its own namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Labels for the object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "super::schema::labels")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "super::schema::annotations")]
    pub annotations: BTreeMap<String, String>,
    /// Written as `null` by many generators; accepted and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::nullable_string")]
    pub creation_timestamp: Option<String>,
}

/// Template from which a MachineSet or MachineDeployment creates Machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(ours_only(is_ours!("self.spec"), "has(self.spec.versions)"))
    .message("missing; set template.spec.versions.kubelet, such as v1.36.3").field_path(".spec.versions"))]
pub struct MachineTemplate {
    /// Labels and annotations of the Machines; the labels must satisfy the selector.
    #[serde(default)]
    pub metadata: EmbeddedMeta,
    /// The Machines' spec.
    pub spec: MachineSpec,
}
