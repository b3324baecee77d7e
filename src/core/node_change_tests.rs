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
            "annotations": {(ANNOTATION_CORDONED): "true"}},
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
fn only_a_node_that_we_cordoned_is_uncordoned() {
    let patched = |unschedulable: Option<bool>, is_ours: bool, wanted: Scheduling| {
        let mut node = node();
        node.spec.get_or_insert_default().unschedulable = unschedulable;
        if is_ours {
            let ours = (ANNOTATION_CORDONED.to_owned(), "true".to_owned());
            node.metadata.annotations = Some([ours].into());
        }
        patch_for(&node, &wanted.into())
    };
    let written = |unschedulable: Value, record: Value| {
        Some(json!({
            "metadata": {"uid": "u1", "resourceVersion": "7", "annotations": {(ANNOTATION_CORDONED): record}},
            "spec": {"unschedulable": unschedulable},
        }))
    };
    let cordoned = written(true.into(), "true".into());
    let restored = written(Value::Null, Value::Null);
    let none = None;
    for (case, unschedulable, is_ours, wanted, expected) in [
        ("free", None, false, Cordoned, &cordoned),
        ("uncordoned by hand since", None, true, Cordoned, &cordoned),
        ("by us already", Some(true), true, Cordoned, &none),
        ("by somebody else", Some(true), false, Cordoned, &none),
        ("ours", Some(true), true, Restored, &restored),
        ("ours, uncordoned by hand", None, true, Restored, &restored),
        ("somebody else's", Some(true), false, Restored, &none),
        ("not cordoned", None, false, Restored, &none),
    ] {
        assert_eq!(&patched(unschedulable, is_ours, wanted), expected, "{case}");
    }
}
