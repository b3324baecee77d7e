use super::*;

fn names(documents: &[Document]) -> Vec<String> {
    documents.iter().map(ToString::to_string).collect()
}

#[test]
fn a_stream_is_read_as_kubectl_reads_it() {
    let stream = "\
# only a comment
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web}
data: {on: 'yes'}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: b}
spec:
  template: {spec: {hostNetwork: yes, volumes: [{configMap: {defaultMode: 0644}}]}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: c}}
- {apiVersion: v1, kind: Secret, metadata: {name: d}}
...
";
    let documents = parse("cni.yaml", stream).expect("a valid stream");
    assert_eq!(
        names(&documents),
        [
            "document 1 of cni.yaml: ConfigMap web/a",
            "document 2 of cni.yaml: DaemonSet b",
            "document 3 of cni.yaml: Secret c",
            "document 3 of cni.yaml: Secret d",
        ]
    );
    let object =
        |at: usize| -> Value { serde_json::from_str(documents[at].object.get()).expect("JSON") };
    assert_eq!(object(0)["data"]["on"], "yes", "keys stay words");
    let spec = &object(1)["spec"]["template"]["spec"];
    assert_eq!(spec["hostNetwork"], true);
    assert_eq!(spec["volumes"][0]["configMap"]["defaultMode"], 0o644);
    assert_eq!(documents[1].group_version.group, "apps");
}

#[test]
fn a_document_that_is_no_object_is_named_with_the_field_that_it_lacks() {
    let table = [
        (
            "kind: X\nmetadata: {name: a}",
            "document 1 of f: apiVersion is missing",
        ),
        (
            "apiVersion: v1\nmetadata: {name: a}",
            "document 1 of f: kind is missing",
        ),
        (
            "apiVersion: v1\nkind: X",
            "document 1 of f: metadata.name is missing",
        ),
        (
            "apiVersion: v1\nkind: X\nmetadata: {generateName: a-}",
            "metadata.name is missing",
        ),
        ("- a\n- b", "document 1 of f: apiVersion is missing"),
        (
            "apiVersion: a/b/c\nkind: X\nmetadata: {name: a}",
            "\"a/b/c\" is not a group and version",
        ),
    ];
    for (stream, message) in table {
        let error = parse("f", stream).expect_err(stream).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn what_is_not_yaml_is_said_with_its_line() {
    let error = parse("cni.yaml", "a: b\nc: [d\n")
        .expect_err("unclosed")
        .to_string();
    assert!(error.starts_with("cni.yaml is not valid YAML: "), "{error}");
    assert!(error.contains("line"), "{error}");
}

#[test]
fn namespaces_and_definitions_come_first_and_the_rest_stays_as_written() {
    let stream = [
        "b/v1 Thing",
        "v1 Secret",
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "v1 Namespace",
        "apps/v1 Deployment",
        "other.io/v1 Namespace",
    ]
    .map(|kind| {
        let (version, kind) = kind.split_once(' ').expect("two words");
        format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    })
    .join("---\n");
    let kinds: Vec<_> = in_order(parse("f", &stream).expect("valid"))
        .into_iter()
        .map(|d| format!("{} {}", d.group_version.api_version(), d.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            "v1 Namespace",
            "apiextensions.k8s.io/v1 CustomResourceDefinition",
            "b/v1 Thing",
            "v1 Secret",
            "apps/v1 Deployment",
            "other.io/v1 Namespace"
        ]
    );
}

#[test]
fn the_digest_changes_with_every_byte_and_with_the_borders_between_streams() {
    let base = digest([("a", "bc")]);
    assert_eq!(base.len(), 64);
    assert_eq!(base, digest([("a", "bc")]));
    for other in [
        digest([("ab", "c")]),
        digest([("a", "bd")]),
        digest([("a", "bc"), ("", "")]),
    ] {
        assert_ne!(base, other);
    }
}

#[test]
fn a_stream_that_becomes_large_is_refused_with_what_to_do() {
    let object = |n: usize| format!("apiVersion: v1\nkind: X\nmetadata: {{name: a{n}}}\n---\n");
    let of = |objects: usize| (0..objects).map(object).collect::<String>();
    assert_eq!(parse("f", &of(500)).expect("a stream").len(), 500);
    let item = "- {apiVersion: v1, kind: X, metadata: {name: a}}\n";
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{}", item.repeat(2_001));
    let refused = parse("f", &list).expect_err("too many").to_string();
    assert!(
        refused.starts_with("f has more than 2000 objects; distribute them"),
        "{refused}"
    );
    // a control character takes six bytes of JSON
    let text = "\\x01".repeat(200 << 10);
    let data = format!("data: {{b: &b \"{text}\", c: *b, d: *b, e: *b}}\n");
    let escaped = format!("{}{data}", object(0).trim_end_matches("---\n"));
    let refused = parse("f", &escaped).expect_err("too long");
    assert!(
        refused
            .to_string()
            .starts_with("f has more than 4 MiB as JSON; distribute it"),
        "{refused}"
    );
    let mut aliased = format!(
        "apiVersion: v1\nkind: X\nmetadata: {{name: &a {}}}\nb:\n",
        "x".repeat(900 << 10)
    );
    aliased += &"- *a\n".repeat(300);
    let refused = parse("f", &aliased).expect_err("too long").to_string();
    assert!(refused.starts_with("f is not valid YAML"), "{refused}");
}
