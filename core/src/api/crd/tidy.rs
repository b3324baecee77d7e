//! What a generator writes into a schema and a person would not.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

/// Mends the schemas of a definition.
pub fn tidy(crd: &mut CustomResourceDefinition) {
    for version in &mut crd.spec.versions {
        let root = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(root) = root {
            describe(root);
            schema(root);
        }
    }
}

/// The doc comment of a derived kind stands at its `spec`, where the types have it; people read it
/// at the kind.
fn describe(root: &mut JSONSchemaProps) {
    let derived = root.description.as_ref();
    let spec = root
        .properties
        .as_mut()
        .and_then(|fields| fields.get_mut("spec"));
    if derived.is_none_or(|text| text.starts_with("Auto-generated"))
        && let Some(spec) = spec
    {
        root.description = spec.description.replace("What is wanted.".into());
    }
}

/// Mends a schema, and all below it.
pub fn schema(node: &mut JSONSchemaProps) {
    // A default such as `{}` adds nothing but noise to every stored object.
    if node.default.as_ref().is_some_and(|d| says_nothing(&d.0)) {
        node.default = None;
    }
    // Kubernetes knows no unsigned formats; the ranges say it.
    if node
        .format
        .as_ref()
        .is_some_and(|format| format.starts_with("uint"))
    {
        node.format = Some("int32".into());
    }
    if let Some(text) = &mut node.description {
        *text = one_line(text);
    }
    for (name, property) in node.properties.iter_mut().flatten() {
        // An explicit null is dropped before it is stored, which is what null means in an
        // apply. Only `creationTimestamp: null` is kept: generators write it everywhere.
        if name != "creationTimestamp" {
            property.nullable = None;
        }
        schema(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut node.items {
        schema(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut node.additional_properties {
        schema(values);
    }
}

fn says_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(says_nothing),
        _ => false,
    }
}

/// Lines of a doc comment as one, paragraphs kept: `kubectl explain` wraps by itself.
fn one_line(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
