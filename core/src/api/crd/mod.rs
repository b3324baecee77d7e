//! CustomResourceDefinitions, generated from the types.

pub mod bounds;
pub mod older;
mod tidy;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSON, JSONSchemaProps, SelectableField,
};
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use kube::{CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::names::{LABEL_MANAGED_BY, MANAGED_BY};
use super::{
    Cluster, ClusterProviderSpec, Host, Hypervisor, LibvirtMachineProviderSpec, Machine,
    MachineClass, MachineDeployment, MachineSet, SimulatedMachineProviderSpec,
    SshMachineProviderSpec,
};

const CREATED: &str = ".metadata.creationTimestamp";
const CLUSTER_NAME: &str = r".metadata.labels.cluster\.k8s\.io/cluster-name";
const IN_USE: &str = r".metadata.labels.tatara\.dev/in-use";
const INTERNAL_IP: &str = r#".status.addresses[?(@.type=="InternalIP")].address"#;
const READY: &str = r#".status.conditions[?(@.type=="Ready")].status"#;
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
        Hypervisor::crd(),
    ];
    for crd in &mut all {
        crd.annotations_mut().insert(
            "api-approved.kubernetes.io".into(),
            "unapproved, the 2019 Cluster API group continued by Tatara".into(),
        );
        crd.labels_mut()
            .insert(LABEL_MANAGED_BY.into(), MANAGED_BY.into());
        tidy::tidy(crd);
        nobody_has_looked(crd);
        if crd.spec.names.kind == Machine::kind(&()) {
            spec_may_be_empty(crd);
        }
        bounds::bound(crd);
    }
    all
}

/// Columns cannot join two fields at a sane cost (`..['spec.versions.kubelet','versions.kubelet']`
/// works, and takes the API server 4 ms for each Machine). So `Version` is the wanted one inside
/// spec, and the wide `Running` is what was seen on the Node, wherever the wanted one stands.
fn machine() -> CustomResourceDefinition {
    let columns = vec![
        column("Cluster", "string", CLUSTER_NAME, 0),
        column("Node", "string", ".status.nodeRef.name", 0),
        column("Phase", "string", ".status.phase", 0),
        column("Ready", "string", READY, 0),
        column("Reason", "string", READY_REASON, 0),
        column("Version", "string", ".spec.versions.kubelet", 0),
        column("Age", "date", CREATED, 0),
        column("Provider ID", "string", ".spec.providerID", 1),
        column("Address", "string", INTERNAL_IP, 1),
        column("Host", "string", ".status.host", 1),
        column("Running", "string", ".status.versions.kubelet", 1),
        column("Stage", "string", ".status.stage.name", 1),
        column("Change", "string", ".status.change.step", 1),
        column("Waits for", "string", ".status.stage.waitsFor", 1),
    ];
    let selectable = [
        ".spec.providerID",
        ".status.host",
        ".status.nodeRef.name",
        ".status.phase",
    ];
    let mut version = version::<Machine>(columns);
    version.selectable_fields = Some(selectable.into_iter().map(selectable_field).collect());
    version.subresources = Some(CustomResourceSubresources {
        status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
        ..CustomResourceSubresources::default()
    });
    root::<Machine>("ma", version)
}

/// Lets an empty `spec:` pass as `{}`: it is null, and would be refused as "Required value" before any rule of ours says what
/// is missing. Only where nothing in it is required by the schema: a default has to be valid itself.
fn spec_may_be_empty(crd: &mut CustomResourceDefinition) {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut();
        let root = root.and_then(|schema| schema.open_api_v3_schema.as_mut());
        let fields = root.and_then(|root| root.properties.as_mut());
        if let Some(spec) = fields.and_then(|fields| fields.get_mut("spec")) {
            spec.default = Some(JSON(serde_json::json!({})));
        }
    }
}

/// An object of which nothing was said yet says that it was not looked at: without a status, kstatus takes it for done.
fn nobody_has_looked(crd: &mut CustomResourceDefinition) {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut();
        let root = root.and_then(|schema| schema.open_api_v3_schema.as_mut());
        let fields = root.and_then(|root| root.properties.as_mut());
        if let Some(status) = fields.and_then(|fields| fields.get_mut("status")) {
            status.default = Some(JSON(serde_json::json!({ "observedGeneration": -1 })));
        }
    }
}

fn machine_class() -> CustomResourceDefinition {
    let columns = vec![
        column("Provider", "string", ".providerSpec.value.kind", 0),
        column("In use", "string", IN_USE, 0),
        column("Age", "date", CREATED, 0),
    ];
    root::<MachineClass>("mc", version::<MachineClass>(columns))
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

fn selectable_field(path: &str) -> SelectableField {
    SelectableField {
        json_path: path.into(),
    }
}

/// The one version of a kind whose root is written by hand.
fn version<K: Resource<DynamicType = ()> + JsonSchema>(
    columns: Vec<CustomResourceColumnDefinition>,
) -> CustomResourceDefinitionVersion {
    CustomResourceDefinitionVersion {
        name: K::version(&()).into(),
        served: true,
        storage: true,
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(root_schema::<K>()),
        }),
        additional_printer_columns: Some(columns),
        ..CustomResourceDefinitionVersion::default()
    }
}

/// The definition of a kind whose root is written by hand; the others' comes from kube's derive.
fn root<K: Resource<DynamicType = ()>>(
    short_name: &str,
    version: CustomResourceDefinitionVersion,
) -> CustomResourceDefinition {
    let (kind, plural) = (K::kind(&()), K::plural(&()));
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
            versions: vec![version],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    };
    crd.metadata.name = Some(format!("{plural}.{}", K::group(&())));
    crd
}

/// The schema of a root. The API server owns three of its fields; a definition only says that they
/// are there.
fn root_schema<K: JsonSchema>() -> JSONSchemaProps {
    let mut schema = schema::<K>();
    for (name, property) in schema.properties.iter_mut().flatten() {
        let type_ = match name.as_str() {
            "apiVersion" | "kind" => "string",
            "metadata" => "object",
            _ => continue,
        };
        *property = JSONSchemaProps {
            type_: Some(type_.into()),
            ..JSONSchemaProps::default()
        };
    }
    if let Some(required) = &mut schema.required {
        required.retain(|name| name != "metadata");
    }
    schema
}

/// The provider specs that stand inside `providerSpec.value`: kind and schema. The API server keeps
/// them as they are; Tatara checks them.
pub fn provider_specs() -> Vec<(&'static str, JSONSchemaProps)> {
    let mut all = vec![
        ("ClusterProviderSpec", schema::<ClusterProviderSpec>()),
        ("SSHMachineProviderSpec", schema::<SshMachineProviderSpec>()),
        (
            "LibvirtMachineProviderSpec",
            schema::<LibvirtMachineProviderSpec>(),
        ),
        (
            "SimulatedMachineProviderSpec",
            schema::<SimulatedMachineProviderSpec>(),
        ),
    ];
    for (_, schema) in &mut all {
        tidy::schema(schema);
    }
    all
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
    serde_json::from_value(schema.to_value()).unwrap_or_default()
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod columns;
