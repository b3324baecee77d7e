//! What is wrong in a Machine.

use serde_json::{Value, json};

use crate::admission::manifests::{Bad, bad, machine, refuse};

/// `spec:` with nothing below it, which is null.
fn empty_spec() -> Bad {
    let mut manifest = machine("bad");
    manifest["spec"] = Value::Null;
    Bad {
        case: "an empty spec",
        manifest,
        says: vec!["set spec.versions.kubelet, such as v1.36.3"],
    }
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_is_refused_with_field_value_and_remedy() {
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, machine("bad"), path, value, says)
    };
    refuse(vec![
        with(
            "misspelt field",
            "spec.version",
            json!("v1.36.3"),
            &["unknown field \"spec.version\""],
        ),
        with(
            "no spec",
            "spec",
            Value::Null,
            &[
                "spec.versions",
                "set spec.versions.kubelet, such as v1.36.3",
            ],
        ),
        empty_spec(),
        with(
            "no versions",
            "spec.versions",
            Value::Null,
            &[
                "spec.versions",
                "set spec.versions.kubelet, such as v1.36.3",
            ],
        ),
        with(
            "no kubelet version",
            "spec.versions",
            json!({ "controlPlane": "v1.36.3" }),
            &[
                "spec.versions.kubelet",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "latest",
            "spec.versions.kubelet",
            json!("latest"),
            &[
                "spec.versions.kubelet",
                "\"latest\"",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "empty version",
            "spec.versions.kubelet",
            json!(""),
            &[
                "spec.versions.kubelet",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "minor only",
            "spec.versions.controlPlane",
            json!("v1.36"),
            &[
                "spec.versions.controlPlane",
                "\"v1.36\"",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "a number",
            "spec.versions.kubelet",
            json!(1.36),
            &[
                "spec.versions.kubelet",
                "must be of type string: \"number\"",
            ],
        ),
        with(
            "two versions",
            "versions",
            json!({ "kubelet": "v1.35.4" }),
            &[
                "versions: Invalid value",
                "beside spec (kubelet v1.35.4)",
                "they differ; keep spec.versions and remove the other",
            ],
        ),
        with(
            "two roles",
            "versions",
            json!({ "kubelet": "v1.36.3", "controlPlane": "v1.36.3" }),
            &[
                "versions: Invalid value",
                "(kubelet v1.36.3, controlPlane v1.36.3)",
                "they differ; keep spec.versions and remove the other",
            ],
        ),
        with(
            "bad alias",
            "versions",
            json!({ "kubelet": "newest" }),
            &[
                "versions.kubelet",
                "\"newest\"",
                "must be a full version, for example v1.36.3",
            ],
        ),
        with(
            "bad effect",
            "spec.taints",
            json!([{ "key": "a", "effect": "Never" }]),
            &[
                "spec.taints[0].effect",
                "\"Never\"",
                "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            ],
        ),
        with(
            "bad label",
            "spec.metadata",
            json!({ "labels": { "rack": "a b" } }),
            &[
                "spec.metadata.labels",
                "label rack",
                "use at most 63 letters",
            ],
        ),
        with(
            "negative time",
            "spec.deletion",
            json!({ "nodeDrainTimeoutSeconds": -1 }),
            &[
                "spec.deletion.nodeDrainTimeoutSeconds",
                "-1",
                "greater than or equal to 0",
            ],
        ),
        with(
            "the name of 2018",
            "spec.providerConfig",
            json!({ "value": { "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" } }),
            &["spec.providerConfig", "rename it to providerSpec"],
        ),
        with(
            "ours without versions",
            "spec",
            json!({ "providerSpec": { "value": { "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" } } }),
            &["spec.versions", "set spec.versions.kubelet"],
        ),
        with(
            "nameless class",
            "spec.providerSpec",
            json!({ "valueFrom": { "machineClass": { "name": "" } } }),
            &[
                "spec.providerSpec.valueFrom.machineClass.name",
                "at least 1 chars",
            ],
        ),
    ]);
}
