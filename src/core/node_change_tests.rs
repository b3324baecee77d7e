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
        unschedulable: Some(false),
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
        unschedulable: Some(true),
        ..NodeChange::default()
    };
    let expected = json!({
        "metadata": {"uid": "u1", "resourceVersion": "7", "labels": {"a": "9", "b": null, "c": "3"}},
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
fn uncordoning_removes_the_field_as_kubectl_does() {
    let mut cordoned = node();
    cordoned.spec.get_or_insert_default().unschedulable = Some(true);
    assert_eq!(patch_for(&cordoned, &NodeChange::schedulable(false)), None);
    let patch = patch_for(&cordoned, &NodeChange::schedulable(true)).expect("a patch");
    assert_eq!(patch["spec"], json!({"unschedulable": null}));
}
