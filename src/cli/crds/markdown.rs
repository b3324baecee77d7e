//! The API reference as Markdown, generated from the CustomResourceDefinitions.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use tatara_core::api::crd;
use tatara_core::api::crd::bounds::WIDE;

const HEAD: &str = "\
# The API

Generated from the types by `tatara crds --markdown` (`make docs`); do not edit. `kubectl explain` shows the same, except for
the content of `providerSpec.value`, which only this page describes.

Fields marked **required** must be set. `spec.template.spec` of a MachineSet or MachineDeployment has the
fields of a Machine's `spec`. Conditions have the form of every Kubernetes API: `type`,
`status`, `reason`, `message`, `lastTransitionTime`, `observedGeneration`.
";

const EMBEDDED: &str = "
## Provider specs

A provider spec is the value of `spec.providerSpec.value`, of a MachineClass, or of a template. The API server stores it
unchecked; Tatara checks it, and a condition names each unknown or malformed field.
";

/// The whole API reference.
pub fn reference() -> String {
    let mut parts = vec![HEAD.to_owned()];
    parts.extend(crd::all().iter().map(kind));
    parts.push(EMBEDDED.to_owned());
    let embedded = crd::provider_specs();
    let embedded = embedded.iter().map(|(kind, schema)| {
        let head = heading("###", kind, "tatara.dev/v1alpha1", schema);
        format!("{head}\n{}", table(schema))
    });
    parts.extend(embedded);
    parts.concat()
}

fn kind(crd: &CustomResourceDefinition) -> String {
    let names = &crd.spec.names;
    let version = crd.spec.versions.first();
    let schema = version.and_then(|v| v.schema.as_ref()?.open_api_v3_schema.as_ref());
    let (Some(version), Some(schema)) = (version, schema) else {
        return String::new();
    };
    let group = format!("{}/{}", crd.spec.group, version.name);
    let head = heading("##", &names.kind, &group, schema);
    let short = names.short_names.iter().flatten();
    let mut calls = vec![format!("`kubectl get {}`", names.plural)];
    calls.extend(short.map(|name| format!("`{name}`")));
    let selectable = version.selectable_fields.iter().flatten();
    let fields = selectable.map(|field| format!("`{}`", field.json_path.trim_start_matches('.')));
    let fields = fields.collect::<Vec<_>>().join(", ");
    let selectors = if fields.is_empty() {
        String::new()
    } else {
        format!(" Field selectors: {fields}.")
    };
    format!(
        "{head}\n{}.{selectors}\n\n{}",
        calls.join(", "),
        table(schema)
    )
}

fn heading(level: &str, kind: &str, group: &str, schema: &JSONSchemaProps) -> String {
    let about = schema.description.as_deref().unwrap_or_default();
    format!("\n{level} {kind} (`{group}`)\n\n{about}\n")
}

fn table(schema: &JSONSchemaProps) -> String {
    let mut rows = vec!["| field | type | what it says |\n|---|---|---|\n".to_owned()];
    fields(&mut rows, schema, "");
    rows.concat()
}

/// One row for each field below `schema`, depth first.
fn fields(rows: &mut Vec<String>, schema: &JSONSchemaProps, path: &str) {
    let required = schema.required.as_deref().unwrap_or_default();
    for (name, field) in schema.properties.iter().flatten() {
        if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        let path = format!("{path}{name}");
        let about = about(field, required.contains(name)).replace('|', "\\|");
        rows.push(format!("| `{path}` | {} | {about} |\n", type_of(field)));
        // Described once, under Machine and in the head.
        if path != "spec.template.spec" && name != "conditions" {
            fields(rows, field, &format!("{path}."));
            if let Some(JSONSchemaPropsOrArray::Schema(items)) = &field.items {
                fields(rows, items, &format!("{path}[]."));
            }
        }
    }
}

fn type_of(field: &JSONSchemaProps) -> String {
    if field.x_kubernetes_int_or_string == Some(true) {
        return "integer or string".into();
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &field.items {
        return format!("list of {}", type_of(items));
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &field.additional_properties {
        return format!("map to {}", type_of(values));
    }
    field.type_.clone().unwrap_or_else(|| "any".into())
}

/// Description, then the allowed values.
fn about(field: &JSONSchemaProps, required: bool) -> String {
    let mut parts = Vec::new();
    if required {
        parts.push("**Required.**".to_owned());
    }
    parts.extend(
        field
            .description
            .as_ref()
            .map(|text| text.replace('\n', " ")),
    );
    parts.extend(range(field));
    if let Some(values) = &field.enum_ {
        let values = values.iter().map(|value| format!("`{}`", plain(&value.0)));
        parts.push(format!("One of {}.", values.collect::<Vec<_>>().join(", ")));
    }
    parts.extend(
        field
            .default
            .as_ref()
            .map(|default| format!("Default `{}`.", plain(&default.0))),
    );
    parts.join(" ")
}

/// The range of a number; the bounds of its type alone are not shown.
fn range(field: &JSONSchemaProps) -> Option<String> {
    #[allow(clippy::cast_precision_loss)] // exact
    let wide = WIDE as f64;
    let natural = [f64::from(i32::MIN), f64::from(i32::MAX), -wide, wide];
    let said = |bound: Option<f64>| bound.filter(|bound| !natural.contains(bound));
    match (said(field.minimum), said(field.maximum)) {
        (Some(low), Some(high)) => Some(format!("From {low} to {high}.")),
        (Some(low), None) => Some(format!("At least {low}.")),
        (None, Some(high)) => Some(format!("At most {high}.")),
        (None, None) => None,
    }
}

fn plain(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
