use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::api::ProviderSpec;

const OURS: &str = "tatara.dev/v1alpha1";

fn cluster(value: Option<Value>) -> Cluster {
    let mut cluster = Cluster::new("c", crate::api::ClusterSpec::default());
    cluster.spec.provider_spec.value = value;
    cluster
}

fn class(value: Value) -> MachineClass {
    MachineClass {
        metadata: ObjectMeta {
            name: Some("small".into()),
            ..ObjectMeta::default()
        },
        provider_spec: value,
        ..MachineClass::default()
    }
}

fn machines(provider_spec: &Value) -> MachineSpec {
    let provider_spec: ProviderSpec =
        serde_json::from_value(provider_spec.clone()).expect("a provider spec");
    MachineSpec {
        provider_spec,
        ..MachineSpec::default()
    }
}

fn ssh() -> Value {
    json!({ "apiVersion": OURS, "kind": "SSHMachineProviderSpec" })
}

fn aws() -> Value {
    json!({ "apiVersion": "awsprovider/v1alpha1", "kind": "AWSMachineProviderSpec" })
}

fn word(whose: &Whose) -> &'static str {
    match whose {
        Whose::Ours => "ours",
        Whose::Foreign(_) => "foreign",
        Whose::Unknown(_) => "unknown",
    }
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn an_own_spec_decides_then_the_class_then_the_cluster() {
    let named = json!({ "valueFrom": { "machineClass": { "name": "small" } } });
    let (with, none) = (|value: Value| json!({ "value": value }), json!({}));
    let mut both = named.clone();
    both["value"] = aws();
    let ours = cluster(None);
    let theirs = cluster(Some(
        json!({ "apiVersion": "awsprovider/v1alpha1", "kind": "AWSClusterProviderSpec" }),
    ));
    let cases = [
        ("its own", with(ssh()), None, None, "ours"),
        (
            "its own in another's Cluster",
            with(ssh()),
            None,
            Some(&theirs),
            "ours",
        ),
        (
            "another's in our Cluster",
            with(aws()),
            None,
            Some(&ours),
            "foreign",
        ),
        (
            "another's beside our class",
            both,
            Some(class(ssh())),
            Some(&ours),
            "foreign",
        ),
        (
            "our class",
            named.clone(),
            Some(class(json!({ "value": ssh() }))),
            None,
            "ours",
        ),
        (
            "our class, raw",
            named.clone(),
            Some(class(ssh())),
            Some(&theirs),
            "ours",
        ),
        (
            "another's class",
            named.clone(),
            Some(class(aws())),
            Some(&ours),
            "foreign",
        ),
        (
            "no class, our Cluster",
            named.clone(),
            None,
            Some(&ours),
            "ours",
        ),
        (
            "no class, another's Cluster",
            named.clone(),
            None,
            Some(&theirs),
            "foreign",
        ),
        ("no class, no Cluster", named.clone(), None, None, "unknown"),
        (
            "nothing, our Cluster",
            none.clone(),
            None,
            Some(&ours),
            "ours",
        ),
        (
            "nothing, another's Cluster",
            none.clone(),
            None,
            Some(&theirs),
            "foreign",
        ),
        ("nothing at all", none, None, None, "unknown"),
        (
            "no type, our Cluster",
            with(json!({ "hostSelector": {} })),
            None,
            Some(&ours),
            "unknown",
        ),
        (
            "no type in the class",
            named,
            Some(class(json!({ "hostSelector": {} }))),
            Some(&ours),
            "unknown",
        ),
    ];
    for (case, spec, class, cluster, expected) in cases {
        for place in [Place::Machine, Place::Template] {
            let found = of_machines(&machines(&spec), place, class.as_ref(), cluster);
            assert_eq!(word(&found), expected, "{case}: {found:?}");
        }
    }
}

#[test]
fn the_group_tells_and_what_says_neither_group_nor_kind_is_unknown() {
    let cases = [
        (
            json!({ "apiVersion": OURS, "kind": "ClusterProviderSpec" }),
            "ours",
        ),
        (json!({ "apiVersion": OURS, "kind": "Misspelt" }), "ours"),
        (
            json!({ "apiVersion": "tatara.dev/v2", "kind": "ClusterProviderSpec" }),
            "ours",
        ),
        (json!({ "apiVersion": "tatara.dev" }), "ours"),
        (
            json!({ "apiVersion": "tatara.dev.example.com/v1", "kind": "ClusterProviderSpec" }),
            "foreign",
        ),
        (
            json!({ "apiVersion": "vsphereproviderconfig.k8s.io/v1alpha1" }),
            "foreign",
        ),
        (json!({ "kind": "VsphereClusterProviderConfig" }), "foreign"),
        (json!({ "kind": "ClusterProviderSpec" }), "unknown"),
        (
            json!({ "controlPlaneEndpoint": { "host": "192.0.2.1" } }),
            "unknown",
        ),
        (json!({}), "unknown"),
    ];
    for (value, expected) in cases {
        let found = of_cluster(&cluster(Some(value.clone())));
        assert_eq!(word(&found), expected, "{value}: {found:?}");
    }
    assert_eq!(of_cluster(&cluster(None)), Whose::Ours);
    for (value, expected) in [(ssh(), "ours"), (aws(), "foreign"), (json!({}), "unknown")] {
        assert_eq!(word(&of_class(&class(value))), expected);
    }
}

#[test]
fn the_name_of_2018_tells_as_well() {
    let config = |value: Value| Some(json!({ "value": value }));
    let mut machine = machines(&json!({}));
    machine.provider_config = config(aws());
    let found = of_machines(&machine, Place::Machine, None, Some(&cluster(None)));
    assert_eq!(word(&found), "foreign");
    let mut theirs = cluster(None);
    theirs.spec.provider_config = config(aws());
    assert_eq!(word(&of_cluster(&theirs)), "foreign");
    theirs.spec.provider_config = config(json!({ "region": "eu" }));
    assert_eq!(word(&of_cluster(&theirs)), "unknown");
}

#[test]
fn what_something_of_ours_runs_behind_stays_ours_whatever_its_spec_becomes() {
    let mut machine = machines(&json!({ "value": aws() }));
    assert_eq!(
        word(&of_machines(&machine, Place::Machine, None, None)),
        "foreign"
    );
    machine.provider_id = Some("aws:///eu-central-1a/i-0123".into());
    assert_eq!(
        word(&of_machines(&machine, Place::Machine, None, None)),
        "foreign"
    );
    machine.provider_id = Some("tatara://ssh/6c3f5a0e".into());
    assert_eq!(
        of_machines(&machine, Place::Machine, None, None),
        Whose::Ours
    );

    for mark in [ANNOTATION_INITIALIZED, ANNOTATION_TURN] {
        let mut cluster = cluster(Some(aws()));
        cluster.annotations_mut().insert(mark.into(), "x".into());
        assert_eq!(of_cluster(&cluster), Whose::Ours, "{mark}");
    }
    let mut published = cluster(Some(aws()));
    published.finalizers_mut().push(FINALIZER_CLUSTER.into());
    assert_eq!(
        word(&of_cluster(&published)),
        "foreign",
        "every provider of 2019 has it"
    );
    published.finalizers_mut().push(FINALIZER_PROFILE.into());
    assert_eq!(of_cluster(&published), Whose::Ours);
}

#[test]
fn what_is_unknown_is_told_with_what_to_write() {
    let told = |found: Whose| match found {
        Whose::Unknown(why) => why,
        other => panic!("{other:?}"),
    };
    let machine = machines(&json!({ "value": { "hostSelector": {} } }));
    let named = machines(&json!({ "valueFrom": { "machineClass": { "name": "small" } } }));
    let bare = class(json!({}));
    let cases = [
        (
            told(of_machines(&machine, Place::Machine, None, None)),
            "spec.providerSpec.value has neither apiVersion nor kind",
            "write apiVersion: tatara.dev/v1alpha1 and kind: SSHMachineProviderSpec or LibvirtMachineProviderSpec",
        ),
        (
            told(of_machines(&machine, Place::Template, None, None)),
            "spec.template.spec.providerSpec.value has neither",
            "apiVersion: tatara.dev/v1alpha1",
        ),
        (
            told(of_cluster(&cluster(Some(
                json!({ "kind": "ClusterProviderSpec" }),
            )))),
            "has kind ClusterProviderSpec and no apiVersion",
            "write apiVersion: tatara.dev/v1alpha1 and kind: ClusterProviderSpec",
        ),
        (
            told(of_machines(&named, Place::Machine, Some(&bare), None)),
            "providerSpec of MachineClass small has neither",
            "kind: SSHMachineProviderSpec",
        ),
        (
            told(of_machines(&named, Place::Machine, None, None)),
            "MachineClass small does not exist in this namespace",
            "create the class",
        ),
        (
            told(of_machines(
                &machines(&json!({})),
                Place::Machine,
                None,
                None,
            )),
            "the label cluster.k8s.io/cluster-name names no Cluster",
            "write spec.providerSpec.value with apiVersion",
        ),
    ];
    for (message, cause, remedy) in cases {
        assert!(
            message.contains(cause) && message.contains(remedy),
            "{message}"
        );
    }
}

fn written(writers: &[(&str, &Value)]) -> ObjectMeta {
    let entry = |(manager, fields): &(&str, &Value)| ManagedFieldsEntry {
        manager: Some((*manager).into()),
        fields_v1: Some(FieldsV1(json!({ "f:metadata": fields }))),
        ..ManagedFieldsEntry::default()
    };
    ObjectMeta {
        finalizers: Some(vec!["example.com/theirs".into(), FINALIZER_MACHINE.into()]),
        labels: Some(
            [(LABEL_CONTROL_PLANE, "true"), ("a", "b")]
                .map(|(key, value)| (key.into(), value.into()))
                .into(),
        ),
        managed_fields: Some(writers.iter().map(entry).collect()),
        ..ObjectMeta::default()
    }
}

#[test]
fn only_what_we_wrote_and_nobody_else_is_taken_off() {
    let finalizer = json!({ "f:finalizers": { ".": {}, "v:\"machine.cluster.k8s.io\"": {} } });
    let label = json!({ "f:labels": { "f:cluster.k8s.io/control-plane": {}, "f:a": {} } });
    let kept = json!(["example.com/theirs"]);
    let no_label = json!({ LABEL_CONTROL_PLANE: null });
    let cases = [
        (
            "ours",
            vec![("tatara", &finalizer), ("tatara", &label)],
            Some(json!({ "finalizers": kept, "labels": no_label })),
        ),
        (
            "their finalizer",
            vec![("aws", &finalizer), ("tatara", &label)],
            Some(json!({ "labels": no_label })),
        ),
        (
            "both wrote it",
            vec![("tatara", &finalizer), ("aws", &finalizer)],
            None,
        ),
        ("theirs", vec![("aws", &finalizer), ("aws", &label)], None),
        ("nobody's", vec![], None),
    ];
    for (case, writers, expected) in cases {
        assert_eq!(taken_off(&written(&writers)), expected, "{case}");
    }
    assert!(bears_ours(&written(&[])) && !bears_ours(&ObjectMeta::default()));
}
