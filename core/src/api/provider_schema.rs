//! Schema fragments for objects of other providers: in 2019 more was optional, and the API group is shared. Tatara's
//! requirements apply to its own objects only.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::schema::{conditions, rule};

/// CEL over a Machine's spec: it is ours, as far as admission can tell. What names a class may be another provider's, and
/// so may be what has a provider's object that does not say whose it is.
macro_rules! is_ours {
    ($spec:literal) => {
        concat!(
            "(has(",
            $spec,
            ".providerSpec) && has(",
            $spec,
            ".providerSpec.value) ? has(",
            $spec,
            ".providerSpec.value.apiVersion) && ",
            $spec,
            ".providerSpec.value.apiVersion.startsWith('tatara.dev/') : !has(",
            $spec,
            ".providerConfig) && !(has(",
            $spec,
            ".providerSpec) && has(",
            $spec,
            ".providerSpec.valueFrom)))"
        )
    };
}
pub(super) use is_ours;

/// CEL: what holds where a Machine's spec is ours.
pub fn ours_only(is_ours: &str, rule: &str) -> String {
    format!("!{is_ours} || ({rule})")
}

/// CEL: a version in full. A vendor's build has a suffix, such as `+vendor`.
pub fn is_full(version: &str) -> String {
    format!(
        "{version}.matches('^v?[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?([+][0-9A-Za-z.-]+)?$')"
    )
}

/// CEL: the message for a version that is not a full one.
pub fn no_full_version(version: &str) -> String {
    format!(
        "'\"' + {version} + '\" must be a full version, for example v1.36.3 (1.36.3 means the same)'"
    )
}

/// What `kubectl explain` prints for the kind: the schema does not have the fields of the kinds.
const KINDS: &str = "Kind of the object. In a Cluster, Tatara's kind is ClusterProviderSpec. In a Machine, Tatara's kinds are \
    SSHMachineProviderSpec (a Host), LibvirtMachineProviderSpec (a virtual machine on a Hypervisor) and \
    SimulatedMachineProviderSpec (no machine, for tests). Their fields are in docs/api.md; tatara crds --markdown prints them.";

/// A provider's object: rules may read its `apiVersion` and `kind`; the rest is stored as the user wrote it.
pub fn provider_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "apiVersion": { "type": "string", "maxLength": 253,
                "description": "Group and version of the object: those of Tatara's own are tatara.dev/v1alpha1." },
            "kind": { "type": "string", "maxLength": 253, "description": KINDS },
        },
    })
}

/// The field `providerConfig`, the name of `providerSpec` until 2018.
pub fn provider_config(generator: &mut SchemaGenerator) -> Schema {
    let mut value = provider_object(generator).to_value();
    value["description"] =
        json!("The other provider's object; Tatara reads its apiVersion and kind only.");
    value["properties"]["kind"]["description"] = json!("Kind of the object.");
    json_schema!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "value": value },
        "x-kubernetes-validations": [rule(
            "!has(self.value) || !has(self.value.apiVersion) || !self.value.apiVersion.startsWith('tatara.dev/')",
            "is accepted from other providers only; rename it to providerSpec",
        )],
    })
}

/// The conditions of a Machine: in 2019 they were copied from its Node, and have fewer required fields, and one more field.
pub fn machine_conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    if let Some(items) = schema.get_mut("items") {
        items["required"] = json!(["type", "status"]);
        let properties = &mut items["properties"];
        properties["reason"]["minLength"] = json!(0);
        properties["lastTransitionTime"]["nullable"] = json!(true);
        properties["lastHeartbeatTime"] = json!({
            "type": "string", "format": "date-time", "nullable": true,
            "description": "Accepted as in 2019; Tatara writes nothing here.",
        });
    }
    schema
}
