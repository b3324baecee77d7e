//! Schema fragments of what other providers' objects may say: in 2019 more was optional, and the group is shared.
//! Only our own need what Tatara needs.

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

/// CEL: what is said of a version that is no full one.
pub fn no_full_version(version: &str) -> String {
    format!(
        "'\"' + {version} + '\" must be a full version, for example v1.36.3 (1.36.3 means the same)'"
    )
}

/// What `kubectl explain` says of the kind: the fields of each are kept as they were written, and no schema names them.
const KINDS: &str = "Kind of the object. Those of Tatara: of a Cluster ClusterProviderSpec; of a Machine \
    SSHMachineProviderSpec (a Host), LibvirtMachineProviderSpec (a virtual machine on a Hypervisor) or \
    SimulatedMachineProviderSpec (nothing, for tests). Their fields: docs/api.md, or tatara crds --markdown.";

/// A provider's object: rules may look at what it says that it is; the rest is kept as the user wrote it.
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

/// What `providerSpec` was called until 2018.
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
            "is accepted of other providers only; rename it to providerSpec",
        )],
    })
}

/// The conditions of a Machine: in 2019 they were copied from its Node, and say less, and more.
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
