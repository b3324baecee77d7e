//! MachineClass: a named provider spec that many machines share.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider spec with a name. It is copied into MachineSets and Machines when they are created; a
/// change of the class is a change of the template, and rolls out its MachineDeployments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineClass {
    /// Always `cluster.k8s.io/v1alpha1`.
    #[serde(default = "api_version")]
    pub api_version: String,
    /// Always `MachineClass`.
    #[serde(default = "kind")]
    pub kind: String,
    /// Standard object metadata.
    #[schemars(schema_with = "super::schema::any_object")]
    pub metadata: ObjectMeta,
    /// The provider's object, as `{value: {apiVersion, kind, …}}` or in the older raw form.
    #[schemars(schema_with = "super::schema::any_object")]
    pub provider_spec: Value,
}

super::resource::cluster_resource!(MachineClass, "machineclasses");

fn api_version() -> String {
    format!("{}/{}", super::CLUSTER_GROUP, super::VERSION)
}
fn kind() -> String {
    "MachineClass".into()
}

impl MachineClass {
    /// The provider's object, whichever form it was written in.
    pub fn value(&self) -> &Value {
        self.provider_spec
            .get("value")
            .unwrap_or(&self.provider_spec)
    }
}
