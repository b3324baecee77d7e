//! `providerSpec` of the 2019 API: a provider's own object, written inline or taken from a class.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the provider's settings come from. `value` wins over `valueFrom`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpec {
    /// The provider's object, with its own `apiVersion` and `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::provider_schema::provider_object")]
    pub value: Option<Value>,
    /// A place to take the object from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ProviderSpecSource>,
}

/// A place that holds a provider's object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.machineClass)")
    .message("names no source; set valueFrom.machineClass.name, or write the provider's object into value"))]
pub struct ProviderSpecSource {
    /// The class whose `providerSpec` is used. It is copied when the Machine is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_class: Option<MachineClassRef>,
}

/// Reference to a MachineClass in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineClassRef {
    /// Name of the MachineClass.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Must be empty or the object's own namespace: references do not cross namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Name of the provider that the class is for, as in 2019; checked when set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub provider: Option<String>,
    /// Accepted as in 2019, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub api_version: Option<String>,
    /// Accepted as in 2019, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub kind: Option<String>,
    /// Accepted as in 2019, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub uid: Option<String>,
    /// Accepted as in 2019, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub resource_version: Option<String>,
    /// Accepted as in 2019, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub field_path: Option<String>,
}
