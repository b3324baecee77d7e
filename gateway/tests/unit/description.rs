use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::gateway::Gateway;

async fn description() -> Value {
    let gateway = Gateway::start(&[]);
    gateway.client().get("/openapi.json").await.json()
}

/// All references in a document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_description_is_openapi_3_1_and_has_every_path() {
    let description = description().await;
    assert!(
        description["openapi"]
            .as_str()
            .expect("a version")
            .starts_with("3.1")
    );
    let paths: Vec<_> = description["paths"]
        .as_object()
        .expect("paths")
        .keys()
        .collect();
    let expected = [
        "/openapi.json",
        "/v1/capacity",
        "/v1/events",
        "/v1/images",
        "/v1/images/{sha256}",
        "/v1/machines",
        "/v1/machines/{id}",
        "/v1/machines/{id}/console",
        "/v1/machines/{id}/power",
        "/v1/machines/{id}/seed",
    ];
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn what_the_description_refers_to_is_in_it() {
    let description = description().await;
    let mut found = BTreeSet::new();
    references(&description, &mut found);
    assert!(found.len() > 5, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a local reference");
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn every_operation_has_its_problems_and_both_ways_in() {
    let description = description().await;
    for (path, operations) in description["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            for status in ["401", "503"] {
                let problem =
                    &operation["responses"][status]["content"]["application/problem+json"];
                assert!(problem.is_object(), "{method} {path} {status}");
            }
        }
    }
    let schemes = &description["components"]["securitySchemes"];
    assert_eq!(schemes["bearer"]["scheme"], "bearer");
    assert_eq!(schemes["certificate"]["type"], "mutualTLS");
}

#[tokio::test]
async fn what_is_sent_has_no_other_fields_than_those_described() {
    let schemas = description().await["components"]["schemas"].clone();
    for name in [
        "MachineRequest",
        "MachineSpec",
        "RootDisk",
        "DataDisk",
        "InterfaceSpec",
        "Seed",
    ] {
        assert_eq!(schemas[name]["additionalProperties"], false, "{name}");
    }
}
