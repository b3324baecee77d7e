//! The definitions are what the types say, explain themselves, and the types lose nothing that
//! users write.

use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::ResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tatara::cli::crds;
use tatara_core::api::{
    Cluster, ClusterProviderSpec, Host, Hypervisor, Machine, MachineClass, MachineDeployment,
    MachineProviderSpec, MachineSet, crd,
};

use crate::support::fixtures::{fixtures, missing};

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    let path = repository(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_committed_definitions_are_what_the_types_say() {
    for crd in crd::all() {
        let file = format!("crds/{}.yaml", crd.name_any());
        let yaml = crds::yaml(&crd).expect("YAML");
        assert!(read(&file) == yaml, "{file} is stale; run: make crds");
    }
}

#[test]
fn no_definition_lies_about_that_no_type_has() {
    let files = std::fs::read_dir(repository("crds")).expect("crds/");
    let names = files.map(|file| {
        file.expect("a file")
            .file_name()
            .into_string()
            .expect("text")
    });
    let known = crd::all();
    for name in names {
        let known = known
            .iter()
            .any(|crd| name == format!("{}.yaml", crd.name_any()));
        assert!(known, "crds/{name} belongs to no type; remove it");
    }
}

#[test]
fn the_yaml_of_a_definition_reads_back_as_the_same_definition() {
    for crd in crd::all() {
        let yaml = crds::yaml(&crd).expect("YAML");
        let read: CustomResourceDefinition = serde_saphyr::from_str(&yaml).expect("a definition");
        assert_eq!(read, crd);
    }
}

#[test]
fn the_reference_is_what_the_types_say() {
    let stale = "docs/api.md is stale; run: make docs";
    assert!(read("docs/api.md") == crds::reference(), "{stale}");
}

fn schema(crd: &CustomResourceDefinition) -> &JSONSchemaProps {
    let schema = crd.spec.versions.first().and_then(|v| v.schema.as_ref());
    schema
        .and_then(|s| s.open_api_v3_schema.as_ref())
        .expect("a schema")
}

/// Every field below `schema` with its path; items of lists as `[]`.
fn walk<'a>(
    schema: &'a JSONSchemaProps,
    path: &str,
    visit: &mut dyn FnMut(&str, &'a JSONSchemaProps),
) {
    for (name, field) in schema.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        visit(&path, field);
        walk(field, &path, visit);
        if let Some(JSONSchemaPropsOrArray::Schema(items)) = &field.items {
            walk(items, &format!("{path}[]"), visit);
        }
    }
}

#[test]
fn every_field_explains_itself() {
    let mut silent = Vec::new();
    for crd in crd::all() {
        let about = schema(&crd).description.as_deref().unwrap_or_default();
        assert!(
            !about.is_empty() && !about.contains("Auto-generated"),
            "{about}"
        );
        walk(schema(&crd), &crd.spec.names.kind, &mut |path, field| {
            let owned_by_the_server = path.matches('.').count() == 1
                && [".apiVersion", ".kind", ".metadata"]
                    .iter()
                    .any(|end| path.ends_with(end));
            if !owned_by_the_server && field.description.as_deref().is_none_or(str::is_empty) {
                silent.push(path.to_owned());
            }
        });
    }
    for (kind, schema) in crd::provider_specs() {
        walk(&schema, kind, &mut |path, field| {
            if field.description.as_deref().is_none_or(str::is_empty) {
                silent.push(path.to_owned());
            }
        });
    }
    assert!(silent.is_empty(), "without a doc comment: {silent:#?}");
}

/// What is stored has to be read again, and CEL needs to know how much there may be.
#[test]
fn everything_that_a_definition_lets_through_has_bounds() {
    let mut boundless = Vec::new();
    for crd in crd::all() {
        let kind = &crd.spec.names.kind;
        for (name, field) in schema(&crd).properties.iter().flatten() {
            // these are the API server's
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                look_for_bounds(field, &format!("{kind}.{name}"), &mut boundless);
            }
        }
    }
    assert!(boundless.is_empty(), "without bounds: {boundless:#?}");
}

fn look_for_bounds(field: &JSONSchemaProps, path: &str, boundless: &mut Vec<String>) {
    let is_number = matches!(field.type_.as_deref(), Some("integer" | "number"));
    let is_either = field.x_kubernetes_int_or_string == Some(true);
    let is_text = field.type_.as_deref() == Some("string");
    let is_map = field.additional_properties.is_some();
    let has_range = field.minimum.is_some() && field.maximum.is_some();
    let has_length = field.max_length.is_some() || field.enum_.is_some();
    let is_time = field.format.as_deref() == Some("date-time");
    let lacks = [
        (
            (is_number || is_either) && !has_range,
            "minimum and maximum",
        ),
        ((is_text || is_either) && !has_length, "maxLength"),
        (is_time && field.pattern.is_none(), "the pattern of a time"),
        (
            field.type_.as_deref() == Some("array") && field.max_items.is_none(),
            "maxItems",
        ),
        (is_map && field.max_properties.is_none(), "maxProperties"),
    ];
    let lacks = lacks.iter().filter(|(lacks, _)| *lacks);
    boundless.extend(lacks.map(|(_, what)| format!("{path}: {what}")));
    for (name, below) in field.properties.iter().flatten() {
        look_for_bounds(below, &format!("{path}.{name}"), boundless);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &field.items {
        look_for_bounds(items, &format!("{path}[]"), boundless);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &field.additional_properties {
        look_for_bounds(values, &format!("{path}{{}}"), boundless);
    }
}

#[test]
fn every_kind_has_its_short_name_category_and_approval() {
    let expected = [
        ("Cluster", Some("cl")),
        ("MachineClass", Some("mc")),
        ("Machine", Some("ma")),
        ("MachineSet", Some("ms")),
        ("MachineDeployment", Some("md")),
        ("Host", Some("ho")),
        ("Hypervisor", Some("hv")),
    ];
    for (crd, (kind, short)) in crd::all().iter().zip(expected) {
        let names = &crd.spec.names;
        let first = names.short_names.iter().flatten().next();
        assert_eq!(
            (names.kind.as_str(), first.map(String::as_str)),
            (kind, short)
        );
        assert_eq!(
            names.categories,
            Some(vec!["cluster-api".to_owned()]),
            "{kind}"
        );
        let approved = crd.annotations().get("api-approved.kubernetes.io");
        assert!(
            approved.is_some_and(|text| text.starts_with("unapproved, ")),
            "{kind}"
        );
    }
}

/// Whether the value holds something at this path; of a list, some item does.
fn holds(value: &Value, path: &str) -> bool {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let (name, list) = name
        .strip_suffix("[]")
        .map_or((name, false), |name| (name, true));
    let Some(field) = value.get(name) else {
        return false;
    };
    match (rest, list) {
        ("", _) => true,
        (rest, false) => holds(field, rest),
        (rest, true) => field
            .as_array()
            .is_some_and(|items| items.iter().any(|i| holds(i, rest))),
    }
}

#[test]
fn the_complete_fixtures_use_every_field_that_users_can_write() {
    let mut complete = fixtures("complete");
    // providerConfig is accepted of other providers only
    complete.extend(fixtures("foreign"));
    let mut unused = Vec::new();
    for crd in crd::all() {
        let kind = crd.spec.names.kind.clone();
        // of fields that exclude each other, each is in another
        let of_kind = complete.iter().filter(|(_, f)| f["kind"] == kind.as_str());
        let of_kind: Vec<_> = of_kind.map(|(_, fixture)| fixture).collect();
        walk(schema(&crd), "", &mut |path, _| {
            // The spec of a Machine is used in full by the Machine.
            let elsewhere = path.starts_with(".status") || path.starts_with(".spec.template.spec.");
            let is_used = of_kind.iter().any(|fixture| holds(fixture, &path[1..]));
            if !elsewhere && !is_used {
                unused.push(format!("{kind}{path}"));
            }
        });
    }
    assert!(
        unused.is_empty(),
        "in no fixture of tests/fixtures/complete: {unused:#?}"
    );
}

fn through<T: DeserializeOwned + Serialize>(value: &Value) -> Value {
    let read: T = serde_json::from_value(value.clone()).expect("a type that reads it");
    serde_json::to_value(read).expect("JSON")
}

#[test]
fn the_types_lose_nothing_that_a_manifest_says() {
    for (file, manifest) in [fixtures("2019"), fixtures("complete")].concat() {
        let read = match manifest["kind"].as_str() {
            Some("Cluster") => through::<Cluster>(&manifest),
            Some("Machine") => through::<Machine>(&manifest),
            Some("MachineSet") => through::<MachineSet>(&manifest),
            Some("MachineDeployment") => through::<MachineDeployment>(&manifest),
            Some("MachineClass") => through::<MachineClass>(&manifest),
            Some("Host") => through::<Host>(&manifest),
            Some("Hypervisor") => through::<Hypervisor>(&manifest),
            kind => panic!("{file}: unexpected kind {kind:?}"),
        };
        assert_eq!(
            missing(&manifest, &read, ""),
            Vec::<String>::new(),
            "{file}"
        );
    }
}

#[test]
fn what_other_providers_write_can_be_read() {
    for (file, manifest) in fixtures("foreign") {
        match manifest["kind"].as_str() {
            Some("Cluster") => through::<Cluster>(&manifest),
            Some("Machine") => through::<Machine>(&manifest),
            Some("MachineSet") => through::<MachineSet>(&manifest),
            Some("MachineDeployment") => through::<MachineDeployment>(&manifest),
            Some("MachineClass") => through::<MachineClass>(&manifest),
            kind => panic!("{file}: unexpected kind {kind:?}"),
        };
    }
}

fn complete(kind: &str) -> Value {
    let found = fixtures("complete")
        .into_iter()
        .find(|(_, f)| f["kind"] == kind);
    found.expect("a fixture").1
}

#[test]
fn the_provider_specs_of_the_complete_fixtures_are_read_in_full() {
    let cluster = complete("Cluster")["spec"]["providerSpec"]["value"].clone();
    let read = ClusterProviderSpec::decode(Some(&cluster)).expect("a ClusterProviderSpec");
    let lost = missing(
        &without_type(&cluster),
        &serde_json::to_value(read).expect("JSON"),
        "",
    );
    assert_eq!(lost, Vec::<String>::new());

    let machine = complete("Machine")["spec"]["providerSpec"]["value"].clone();
    let Ok(MachineProviderSpec::Ssh(read)) = MachineProviderSpec::decode(&machine) else {
        panic!("{:?}", MachineProviderSpec::decode(&machine));
    };
    let lost = missing(
        &without_type(&machine),
        &serde_json::to_value(read).expect("JSON"),
        "",
    );
    assert_eq!(lost, Vec::<String>::new());

    let class = complete("MachineClass")["providerSpec"]["value"].clone();
    let Ok(MachineProviderSpec::Simulated(read)) = MachineProviderSpec::decode(&class) else {
        panic!("{:?}", MachineProviderSpec::decode(&class));
    };
    let lost = missing(
        &without_type(&class),
        &serde_json::to_value(read).expect("JSON"),
        "",
    );
    assert_eq!(lost, Vec::<String>::new());
}

fn without_type(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    value
}

#[test]
fn a_misspelt_field_of_a_provider_spec_is_named_with_its_path() {
    let mut value = complete("Machine")["spec"]["providerSpec"]["value"].clone();
    value["node"]["software"]["sorce"] = "mirror".into();
    let error = MachineProviderSpec::decode(&value)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("node.software"), "{error}");
    assert!(error.contains("unknown field `sorce`"), "{error}");

    let mut value = complete("Cluster")["spec"]["providerSpec"]["value"].clone();
    value["controlPlaneEndpoint"]["port"] = 65536.into();
    let error = ClusterProviderSpec::decode(Some(&value)).expect_err("refused");
    assert!(error.contains("controlPlaneEndpoint.port"), "{error}");
    assert!(error.contains("65536"), "{error}");
}

#[test]
fn a_machine_class_is_read_in_both_forms() {
    let classes = fixtures("2019");
    let class = |file: &str| {
        let (_, value) = classes
            .iter()
            .find(|(name, _)| name == file)
            .expect("a fixture");
        serde_json::from_value::<MachineClass>(value.clone()).expect("a MachineClass")
    };
    let (new, raw) = (class("machineclass.yaml"), class("machineclass-raw.yaml"));
    assert_eq!(new.value()["kind"], "SSHMachineProviderSpec");
    assert_eq!(raw.value()["kind"], "VsphereMachineProviderSpec");
}

#[test]
fn versions_beside_spec_make_a_control_plane_machine_as_well() {
    let machines = fixtures("2019");
    let (_, value) = machines
        .iter()
        .find(|(name, _)| name == "machine.yaml")
        .expect("a fixture");
    let machine: Machine = serde_json::from_value(value.clone()).expect("a Machine");
    assert!(machine.is_control_plane());
    assert_eq!(
        machine.versions().map(|v| v.kubelet.as_str()),
        Some("1.13.6")
    );
}
