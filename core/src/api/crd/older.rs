//! What an installed definition lacks: the API server drops what it does not know, and a status would be written again and again.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The first field of ours that the installed definition does not have, such as `status.whys[].cause`.
pub fn lacks(
    installed: &CustomResourceDefinition,
    ours: &CustomResourceDefinition,
) -> Option<String> {
    ours.spec.versions.iter().find_map(|version| {
        let mut same = installed.spec.versions.iter();
        match same.find(|other| other.name == version.name) {
            None => Some(format!("version {}", version.name)),
            Some(other) => lacks_field(schema(other)?, schema(version)?, ""),
        }
    })
}

fn schema(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

fn lacks_field(installed: &JSONSchemaProps, ours: &JSONSchemaProps, path: &str) -> Option<String> {
    if installed.x_kubernetes_preserve_unknown_fields == Some(true) {
        return None;
    }
    let fields = ours.properties.iter().flatten().find_map(|(name, field)| {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        match installed
            .properties
            .as_ref()
            .and_then(|fields| fields.get(name))
        {
            None => Some(path),
            Some(other) => lacks_field(other, field, &path),
        }
    });
    let within = |below: fn(&JSONSchemaProps) -> Option<&JSONSchemaProps>, mark| {
        lacks_field(below(installed)?, below(ours)?, &format!("{path}{mark}"))
    };
    fields
        .or_else(|| within(elements, "[]"))
        .or_else(|| within(values, ".*"))
}

fn elements(list: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match list.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(each) => Some(each),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn values(map: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match map.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(each) => Some(each),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(schema: &Value) -> CustomResourceDefinition {
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let names = json!({"kind": "Thing", "plural": "things"});
        let spec =
            json!({"group": "g", "names": names, "scope": "Namespaced", "versions": [version]});
        serde_json::from_value(json!({"metadata": {"name": "things.g"}, "spec": spec}))
            .expect("a definition")
    }

    #[test]
    fn the_first_field_that_would_be_dropped_is_named_by_its_path() {
        let of = |status: Value| definition(&json!({"properties": {"status": status}}));
        let text = json!({"type": "string"});
        let ours = of(json!({"properties": {
            "a": text,
            "list": {"items": {"properties": {"b": text}}},
            "map": {"additionalProperties": {"properties": {"c": text}}},
        }}));
        let without = |pointer: &str| {
            let mut value = serde_json::to_value(&ours).expect("JSON");
            let (parent, name) = pointer.rsplit_once('/').expect("a path");
            let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
            let fields = value
                .pointer_mut(&format!("{status}{parent}"))
                .expect("fields");
            fields
                .as_object_mut()
                .expect("an object")
                .remove(name)
                .expect("a field");
            serde_json::from_value::<CustomResourceDefinition>(value).expect("a definition")
        };
        for (removed, expected) in [
            ("/properties/a", "status.a"),
            ("/properties/list", "status.list"),
            ("/properties/list/items/properties/b", "status.list[].b"),
            (
                "/properties/map/additionalProperties/properties/c",
                "status.map.*.c",
            ),
        ] {
            let installed = without(removed);
            assert_eq!(lacks(&installed, &ours).as_deref(), Some(expected));
            assert_eq!(
                lacks(&ours, &installed),
                None,
                "a newer definition has more"
            );
        }
        let anything = of(json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert_eq!(lacks(&anything, &ours), None);
        for ours in super::super::all() {
            assert_eq!(lacks(&ours, &ours), None);
        }
    }
}
