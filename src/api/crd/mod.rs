//! CustomResourceDefinitions, generated from the types.

mod tidy;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use kube::{CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::names::{LABEL_MANAGED_BY, MANAGED_BY};
use super::{Cluster, Host, Machine, MachineClass, MachineDeployment, MachineSet};

const CREATED: &str = ".metadata.creationTimestamp";
const CLUSTER_NAME: &str = r".metadata.labels.cluster\.k8s\.io/cluster-name";
const IN_USE: &str = r".metadata.labels.tatara\.dev/in-use";
const INTERNAL_IP: &str = r#".status.addresses[?(@.type=="InternalIP")].address"#;
/// Inside spec, or beside it.
const VERSION: &str = ".['spec.versions.kubelet','versions.kubelet']";
const READY_REASON: &str = r#".status.conditions[?(@.type=="Ready")].reason"#;

/// The definitions that Tatara installs, in the order in which they are applied.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut all = vec![
        Cluster::crd(),
        machine_class(),
        machine(),
        MachineSet::crd(),
        MachineDeployment::crd(),
        Host::crd(),
    ];
    for crd in &mut all {
        crd.annotations_mut().insert(
            "api-approved.kubernetes.io".into(),
            "unapproved, the 2019 Cluster API group continued by Tatara".into(),
        );
        crd.labels_mut()
            .insert(LABEL_MANAGED_BY.into(), MANAGED_BY.into());
        tidy::tidy(crd);
    }
    all
}

fn machine() -> CustomResourceDefinition {
    let columns = vec![
        column("Cluster", "string", CLUSTER_NAME, 0),
        column("Node", "string", ".status.nodeRef.name", 0),
        column("Provider ID", "string", ".spec.providerID", 0),
        column("Phase", "string", ".status.phase", 0),
        column("Version", "string", VERSION, 0),
        column("Age", "date", CREATED, 0),
        column("Address", "string", INTERNAL_IP, 1),
        column("Host", "string", ".status.host", 1),
        column("Reason", "string", READY_REASON, 1),
    ];
    root::<Machine>("ma", columns, true)
}

fn machine_class() -> CustomResourceDefinition {
    let columns = vec![
        column("Provider", "string", ".providerSpec.value.kind", 0),
        column("In use", "string", IN_USE, 0),
        column("Age", "date", CREATED, 0),
    ];
    root::<MachineClass>("mc", columns, false)
}

fn column(name: &str, type_: &str, path: &str, priority: i32) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.into(),
        type_: type_.into(),
        json_path: path.into(),
        priority: (priority > 0).then_some(priority),
        ..CustomResourceColumnDefinition::default()
    }
}

/// The definition of a kind whose root is written by hand; the others' comes from kube's derive.
fn root<K: Resource<DynamicType = ()> + JsonSchema>(
    short_name: &str,
    columns: Vec<CustomResourceColumnDefinition>,
    status: bool,
) -> CustomResourceDefinition {
    let (kind, plural) = (K::kind(&()), K::plural(&()));
    let subresources = status.then(|| CustomResourceSubresources {
        status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
        ..CustomResourceSubresources::default()
    });
    let mut crd = CustomResourceDefinition {
        spec: CustomResourceDefinitionSpec {
            group: K::group(&()).into(),
            scope: "Namespaced".into(),
            names: CustomResourceDefinitionNames {
                kind: kind.to_string(),
                plural: plural.to_string(),
                singular: Some(kind.to_lowercase()),
                short_names: Some(vec![short_name.into()]),
                categories: Some(vec!["cluster-api".into()]),
                ..CustomResourceDefinitionNames::default()
            },
            versions: vec![CustomResourceDefinitionVersion {
                name: K::version(&()).into(),
                served: true,
                storage: true,
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema::<K>()),
                }),
                additional_printer_columns: Some(columns),
                subresources,
                ..CustomResourceDefinitionVersion::default()
            }],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    };
    crd.metadata.name = Some(format!("{plural}.{}", K::group(&())));
    crd
}

fn schema<K: JsonSchema>() -> JSONSchemaProps {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<K>();
    schema.remove("title");
    if let Some(required) = schema.get_mut("required").and_then(|r| r.as_array_mut()) {
        required.retain(|name| name != "metadata");
    }
    if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
        // The API server owns these three; a definition only says that they are there.
        properties.insert("apiVersion".into(), serde_json::json!({ "type": "string" }));
        properties.insert("kind".into(), serde_json::json!({ "type": "string" }));
        properties.insert("metadata".into(), serde_json::json!({ "type": "object" }));
    }
    serde_json::from_value(schema.to_value()).unwrap_or_default()
}
