use Scheduling::{Cordoned, Restored};

use super::*;

fn taint(key: &str, value: Option<&str>, effect: &str) -> Taint {
    Taint {
        key: key.into(),
        value: value.map(str::to_owned),
        effect: effect.into(),
        time_added: None,
    }
}

fn node() -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "w1", "uid": "u1", "resourceVersion": "7", "labels": {"a": "1", "b": "2"}},
        "spec": {
            "providerID": "tatara://ssh/1",
            "taints": [
                {"key": "theirs", "effect": "NoExecute", "timeAdded": "2026-11-21T00:00:00Z"},
                {"key": "ours", "value": "x", "effect": "NoSchedule"},
            ],
        },
    }))
    .expect("a Node")
}

#[test]
fn nothing_is_written_when_nothing_differs() {
    let change = NodeChange {
        labels: [("a".into(), Some("1".into())), ("absent".into(), None)].into(),
        annotations: [("absent".into(), None)].into(),
        taints: vec![
            taint("ours", Some("x"), "NoSchedule"),
            taint("theirs", None, "NoExecute"),
        ],
        remove_taints: vec![
            ("absent".into(), "NoSchedule".into()),
            ("ours".into(), "NoExecute".into()),
        ],
        scheduling: Some(Scheduling::Restored),
    };
    assert_eq!(patch_for(&node(), &change), None);
    assert_eq!(patch_for(&node(), &NodeChange::default()), None);
}

#[test]
fn only_what_differs_is_written_under_uid_and_resource_version() {
    let change = NodeChange {
        labels: [
            ("a".into(), Some("9".into())),
            ("b".into(), None),
            ("c".into(), Some("3".into())),
        ]
        .into(),
        scheduling: Some(Scheduling::Cordoned),
        ..NodeChange::default()
    };
    let expected = json!({
        "metadata": {"uid": "u1", "resourceVersion": "7", "labels": {"a": "9", "b": null, "c": "3"},
            "annotations": {
                (ANNOTATION_CORDONED): CORDONED_AND_KEPT, (ANNOTATION_SCALE_DOWN_DISABLED): "true",
            }},
        "spec": {"unschedulable": true},
    });
    assert_eq!(patch_for(&node(), &change), Some(expected));
}

#[test]
fn the_taints_of_others_stay_in_the_list_that_is_written() {
    let change = NodeChange {
        taints: vec![
            taint("ours", Some("y"), "NoSchedule"),
            taint("new", None, "NoExecute"),
        ],
        remove_taints: vec![("gone".into(), "NoSchedule".into())],
        ..NodeChange::default()
    };
    let patch = patch_for(&node(), &change).expect("a patch");
    assert_eq!(
        patch["spec"]["taints"],
        json!([
            {"key": "theirs", "effect": "NoExecute", "timeAdded": "2026-11-21T00:00:00Z"},
            {"key": "ours", "value": "y", "effect": "NoSchedule"},
            {"key": "new", "effect": "NoExecute"},
        ])
    );
    let removed = NodeChange {
        remove_taints: vec![("ours".into(), "NoSchedule".into())],
        ..NodeChange::default()
    };
    let patch = patch_for(&node(), &removed).expect("a patch");
    assert_eq!(patch["spec"]["taints"].as_array().map(Vec::len), Some(1));
}

#[test]
fn only_a_node_that_we_cordoned_is_uncordoned_and_left_to_the_autoscaler() {
    let patched = |unschedulable: Option<bool>, annotations: &Value, wanted: Scheduling| {
        let mut node = node();
        node.spec.get_or_insert_default().unschedulable = unschedulable;
        node.metadata.annotations = serde_json::from_value(annotations.clone()).expect("a map");
        patch_for(&node, &wanted.into())
    };
    let written = |unschedulable: Value, annotations: Value| {
        Some(json!({
            "metadata": {"uid": "u1", "resourceVersion": "7", "annotations": annotations},
            "spec": {"unschedulable": unschedulable},
        }))
    };
    let free = json!({});
    let both =
        json!({(ANNOTATION_CORDONED): CORDONED_AND_KEPT, (ANNOTATION_SCALE_DOWN_DISABLED): "true"});
    let neither = json!({(ANNOTATION_CORDONED): null, (ANNOTATION_SCALE_DOWN_DISABLED): null});
    let theirs = json!({(ANNOTATION_SCALE_DOWN_DISABLED): "true"});
    let beside = json!({(ANNOTATION_CORDONED): "true", (ANNOTATION_SCALE_DOWN_DISABLED): "true"});
    let cordon_alone = written(true.into(), json!({(ANNOTATION_CORDONED): "true"}));
    let restore_alone = written(Value::Null, json!({(ANNOTATION_CORDONED): null}));
    let cordoned = written(true.into(), both.clone());
    let restored = written(Value::Null, neither);
    let none = None;
    for (case, unschedulable, annotations, wanted, expected) in [
        ("free", None, &free, Cordoned, &cordoned),
        ("uncordoned by hand since", None, &both, Cordoned, &cordoned),
        ("by us already", Some(true), &both, Cordoned, &none),
        ("by somebody else", Some(true), &free, Cordoned, &none),
        (
            "kept by somebody else",
            None,
            &theirs,
            Cordoned,
            &cordon_alone,
        ),
        ("ours", Some(true), &both, Restored, &restored),
        ("ours, uncordoned by hand", None, &both, Restored, &restored),
        (
            "ours, kept by somebody else",
            Some(true),
            &beside,
            Restored,
            &restore_alone,
        ),
        ("somebody else's", Some(true), &theirs, Restored, &none),
        ("not cordoned", None, &free, Restored, &none),
    ] {
        assert_eq!(
            &patched(unschedulable, annotations, wanted),
            expected,
            "{case}"
        );
    }
}
