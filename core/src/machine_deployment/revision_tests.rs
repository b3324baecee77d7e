use super::*;

fn revision(kubelet: &str, provider_spec: &Value) -> Revision {
    let versions = MachineVersions {
        kubelet: kubelet.into(),
        control_plane: None,
    };
    Revision::new(Some(&versions), provider_spec)
}

#[test]
fn the_hash_of_a_template_is_frozen() {
    let spec = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "SSHMachineProviderSpec",
        "hostSelector": {"matchLabels": {"rack": "a"}},
        "requirements": {"cpus": 4, "memory": "8Gi"},
        "node": {"files": [{"path": "/etc/motd", "content": "hello"}]},
    });
    assert_eq!(revision("v1.36.3", &spec).hash(), "2f2cdq8s2s");
}

#[test]
fn a_version_means_the_same_with_and_without_its_v() {
    let spec = json!({});
    assert_eq!(revision("1.36.3", &spec), revision("v1.36.3", &spec));
    assert_eq!(
        revision("1.36.3", &spec).hash(),
        revision("v1.36.3", &spec).hash()
    );
    assert_ne!(revision("1.36.3", &spec), revision("1.36.4", &spec));
}

#[test]
fn neither_the_order_of_keys_nor_a_null_changes_a_revision() {
    let one: Value =
        serde_json::from_str(r#"{"a": {"x": 1, "y": [1, 2]}, "b": null}"#).expect("JSON");
    let two: Value = serde_json::from_str(r#"{"a": {"y": [1, 2], "x": 1}}"#).expect("JSON");
    assert_eq!(revision("1.36.3", &one), revision("1.36.3", &two));
    assert_eq!(
        revision("1.36.3", &one).hash(),
        revision("1.36.3", &two).hash()
    );
    let other_order = json!({"a": {"x": 1, "y": [2, 1]}});
    assert_ne!(revision("1.36.3", &one), revision("1.36.3", &other_order));
}

#[test]
fn a_control_plane_version_makes_another_revision() {
    let with = |control_plane: Option<&str>| {
        let versions = MachineVersions {
            kubelet: "1.36.3".into(),
            control_plane: control_plane.map(Into::into),
        };
        Revision::new(Some(&versions), &json!({}))
    };
    assert_eq!(with(None), with(Some("")));
    assert_ne!(with(None), with(Some("1.36.3")));
    assert_eq!(with(Some("1.36.3")), with(Some("v1.36.3")));
}

#[test]
fn differences_name_fields_and_show_values_of_versions_only() {
    let old = json!({"node": {"files": [{"content": "secret"}], "proxy": {"httpProxy": "http://user:secret@p"}}});
    let new = json!({"node": {"files": [{"content": "other"}], "proxy": {}}, "extra": true});
    let differences = revision("1.35.4", &old).differences(&revision("v1.36.3", &new));
    let expected = [
        "versions.kubelet 1.35.4 → 1.36.3",
        "providerSpec.extra",
        "providerSpec.node.files",
        "providerSpec.node.proxy.httpProxy",
    ];
    assert_eq!(differences, expected);
}

#[test]
fn many_differences_are_counted_rather_than_listed() {
    let new: Map<String, Value> = (0..9).map(|at| (format!("f{at}"), json!(at))).collect();
    let differences =
        revision("1.36.3", &json!({})).differences(&revision("1.36.3", &Value::Object(new)));
    assert_eq!(
        differences.last().map(String::as_str),
        Some("5 more fields")
    );
    assert_eq!(differences.len(), SHOWN + 1);
}

#[test]
fn a_name_in_use_gets_a_number_behind_it() {
    let revision = revision("1.36.3", &json!({}));
    let hash = revision.hash();
    let mut taken = BTreeSet::new();
    for expected in [hash.clone(), format!("{hash}-1"), format!("{hash}-2")] {
        let name = set_name("md", &revision, &taken);
        assert_eq!(
            name,
            SetName {
                name: format!("md-{expected}"),
                hash: expected
            }
        );
        taken.insert(name.name);
    }
}

#[test]
fn a_long_name_is_cut_so_that_it_fits_a_label() {
    let deployment = format!("{}-{}", "a".repeat(51), "b".repeat(40));
    let name = set_name(
        &deployment,
        &revision("1.36.3", &json!({})),
        &BTreeSet::new(),
    );
    assert!(name.name.len() <= MAX_NAME, "{}", name.name);
    assert_eq!(name.name, format!("{}-{}", "a".repeat(51), name.hash));
}

#[test]
fn a_restart_is_another_revision_and_none_the_name_that_it_had() {
    let plain = revision("v1.36.3", &json!({}));
    let of = |at: Option<&str>| {
        let at = at.map(|at| (ANNOTATION_RESTARTED_AT.to_owned(), at.to_owned()));
        plain.clone().restarted(&at.into_iter().collect())
    };
    assert_eq!((of(None), of(None).hash()), (plain.clone(), plain.hash()));
    let (first, second) = (of(Some("1")), of(Some("2")));
    assert!(first != plain && first != second && first.hash() != second.hash());
    assert_eq!(plain.differences(&first), ["restart absent → 1"]);
    assert_eq!(first.differences(&second), ["restart 1 → 2"]);
    assert!(first.repeats(&second) && !first.repeats(&revision("v1.36.2", &json!({}))));
}
