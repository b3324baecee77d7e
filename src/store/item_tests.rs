use kube::ResourceExt;
use kube::core::{ObjectList, WatchEvent};
use serde_json::json;

use super::*;
use k8s_openapi::api::core::v1::Secret;
use tatara_core::Key;
use tatara_core::api::readable::{is_unknown, unreadable};
use tatara_core::api::{
    Cluster, Host, Hypervisor, Machine, MachineClass, MachineDeployment, MachineSet,
};

fn meta(name: &str) -> Value {
    let owner = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "X", "name": "x", "uid": "owner", "controller": true});
    json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": "7", "generation": 3,
        "labels": {"cluster.k8s.io/cluster-name": "c"}, "finalizers": ["f"], "ownerReferences": [owner],
        "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {"a": "b"}})
}

fn deep(levels: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

/// A list as the API server writes it.
fn list(items: &[String]) -> String {
    format!(
        r#"{{"kind":"L","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"more"}},"items":[{}]}}"#,
        items.join(",")
    )
}

fn machine(name: &str, value: &str) -> String {
    let meta = meta(name);
    format!(
        r#"{{"metadata":{meta},"spec":{{"versions":{{"kubelet":"v1.36.3","controlPlane":"v1.36.3"}},
            "providerID":"tatara://ssh/{name}","providerSpec":{{"value":{value}}}}}}}"#
    )
}

#[test]
fn one_that_cannot_be_decoded_keeps_no_other_from_being_read() {
    let deployment = |name: &str, surge: i64| {
        let spec = json!({"replicas": 3, "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"rollingUpdate": {"maxSurge": surge}},
            "template": {"spec": {"versions": {"kubelet": "v1.36.3"}}}});
        json!({"metadata": meta(name), "spec": spec}).to_string()
    };
    let text = list(&[
        deployment("good", 1),
        deployment("bad", 3_000_000_000),
        deployment("also", 2),
    ]);
    assert!(serde_json::from_str::<ObjectList<MachineDeployment>>(&text).is_err());
    let read: ObjectList<Item<MachineDeployment>> = serde_json::from_str(&text).unwrap();
    assert_eq!(read.metadata.continue_.as_deref(), Some("more"));
    let [good, bad, also] = read
        .items
        .try_into()
        .map(|all: [Item<_>; 3]| all.map(|i| i.0))
        .unwrap();
    let whole: MachineDeployment = serde_json::from_str(&deployment("good", 1)).unwrap();
    assert_eq!(good, whole, "what can be read is read as ever");
    assert_eq!((unreadable(&good), unreadable(&also)), (None, None));
    let why = unreadable(&bad).unwrap();
    assert!(
        why.starts_with("spec.strategy.rollingUpdate.maxSurge: "),
        "{why}"
    );
    assert!(why.contains("3000000000"), "{why}");
    assert_eq!(
        (bad.spec.replicas, bad.name_any()),
        (3, "bad".into()),
        "the rest is known"
    );
    assert!(!is_unknown(&bad));
}

#[test]
fn a_value_that_is_nested_too_deep_is_its_machines_trouble() {
    let text = list(&[machine("good", &deep(20)), machine("bad", &deep(200))]);
    let read: ObjectList<Item<Machine>> = serde_json::from_str(&text).unwrap();
    let bad = &read.items[1].0;
    assert_eq!(unreadable(&read.items[0].0), None);
    let why = unreadable(bad).unwrap();
    assert!(why.contains("recursion limit"), "{why}");
    assert!(why.chars().count() <= SHOWN);
    assert_eq!(bad.spec.provider_id.as_deref(), Some("tatara://ssh/bad"));
    assert!(bad.is_control_plane() && !is_unknown(bad));
    assert_eq!(bad.metadata.finalizers, Some(vec!["f".into()]));
    assert!(bad.metadata.deletion_timestamp.is_some());
    let keys = bad.keys();
    for key in [
        Key::Owner("owner".into()),
        Key::Uid("bad".into()),
        Key::Unreadable,
        Key::Cluster("n".into(), "c".into()),
    ] {
        assert!(keys.contains(&key), "{key:?}");
    }
    assert!(!read.items[0].0.keys().contains(&Key::Unreadable));
}

/// The API server repeats the fields of the spec in `metadata.managedFields`, as deep.
#[test]
fn who_wrote_a_deep_value_is_not_missed() {
    let written = format!(
        r#"{{"metadata":{{"managedFields":[{{"fieldsV1":{}}}],"#,
        deep(200)
    );
    let text = machine("bad", &deep(200)).replacen(r#"{"metadata":{"#, &written, 1);
    assert!(text.contains("managedFields"));
    let Item(bad): Item<Machine> = serde_json::from_str(&text).unwrap();
    assert!(unreadable(&bad).is_some() && !is_unknown(&bad));
    assert_eq!(bad.name_any(), "bad");
}

#[test]
fn an_event_of_a_watch_is_read_like_a_list() {
    let event = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","object":{}}}"#,
            machine("bad", &deep(200))
        )
    };
    let read =
        |kind: &str| serde_json::from_str::<WatchEvent<Item<Machine>>>(&event(kind)).unwrap();
    for event in [read("ADDED"), read("MODIFIED"), read("DELETED")] {
        let (WatchEvent::Added(item) | WatchEvent::Modified(item) | WatchEvent::Deleted(item)) =
            event
        else {
            panic!("{event:?}")
        };
        assert!(unreadable(&item.0).is_some());
        assert_eq!(item.resource_version().as_deref(), Some("7"));
    }
    let bookmark = r#"{"type":"BOOKMARK","object":{"apiVersion":"a/b","kind":"M","metadata":{"resourceVersion":"8"}}}"#;
    assert!(matches!(
        serde_json::from_str(bookmark).unwrap(),
        WatchEvent::<Item<Machine>>::Bookmark(_)
    ));
    let gone = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}}"#;
    assert!(
        matches!(serde_json::from_str(gone).unwrap(), WatchEvent::<Item<Machine>>::Error(e) if e.code == 410)
    );
}

#[test]
fn an_unreadable_host_holds_its_claim_unless_nobody_can_tell_it() {
    let host = |port: i64, uid: Value| {
        let spec = json!({"ssh": {"address": "192.0.2.1", "port": port, "credentialsRef": {"name": "key"}},
            "consumerRef": {"name": "m", "uid": uid, "cluster": "c"}});
        let text = json!({"metadata": meta("h"), "spec": spec}).to_string();
        serde_json::from_str::<Item<Host>>(&text).unwrap().0
    };
    let claimed = host(70_000, json!("1"));
    assert!(unreadable(&claimed).unwrap().starts_with("spec.ssh.port"));
    assert!(claimed.keys().contains(&Key::Claim("1".into())) && !is_unknown(&claimed));
    let unknown = host(22, json!(5));
    assert!(is_unknown(&unknown));
    assert!(unknown.keys().contains(&Key::UnknownIn("n".into())));
}

#[test]
fn marks_that_somebody_wrote_into_the_api_say_nothing() {
    let mut machine: Value = serde_json::from_str(&machine("m", "{}")).unwrap();
    machine["metadata"]["annotations"] = json!({(UNREADABLE): "no", (UNKNOWN): "", "a": "b"});
    let read = |machine: &Value| {
        serde_json::from_str::<Item<Machine>>(&machine.to_string())
            .unwrap()
            .0
    };
    assert_eq!(read(&machine).annotations().len(), 1);
    machine["spec"]["taints"] = json!(7);
    let bad = read(&machine);
    assert_ne!(unreadable(&bad), Some("no"));
    assert!(!is_unknown(&bad));
}

#[test]
fn every_kind_is_read_whatever_stands_in_it() {
    fn check<K: IndexKeys + DeserializeOwned>() {
        let junk = json!({"metadata": meta("x"), "spec": 1, "status": [], "data": 1, "providerSpec": {"value": 1}});
        let deep = deep(300);
        let junk = junk
            .to_string()
            .replace(r#""value":1"#, &format!(r#""value":{deep}"#));
        let read = serde_json::from_str::<Item<K>>(&junk).unwrap().0;
        assert!(unreadable(&read).is_some(), "{}", K::kind(&()));
        assert_eq!(read.name_any(), "x");
        let nothing = serde_json::from_str::<Item<K>>(r#"{"metadata":{"name":"x","labels":7}}"#);
        assert!(is_unknown(&nothing.unwrap().0), "{}", K::kind(&()));
    }
    check::<Cluster>();
    check::<Machine>();
    check::<MachineSet>();
    check::<MachineDeployment>();
    check::<MachineClass>();
    check::<Host>();
    check::<Hypervisor>();
    check::<Secret>();
}

#[test]
fn what_stands_in_a_secret_is_not_repeated() {
    let secret =
        json!({"metadata": meta("s"), "data": {"token": "not base64: hunter2"}}).to_string();
    let read = serde_json::from_str::<Item<Secret>>(&secret).unwrap().0;
    let why = unreadable(&read).unwrap();
    assert!(why.contains("data") && !why.contains("hunter2"), "{why}");
}

/// What it costs, for people: `cargo test --lib -- --ignored --nocapture ten_thousand`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_methods)]
fn ten_thousand_machines_are_read_one_by_one() {
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "Ready", "message": "as it shall be",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
    };
    let conditions: Vec<_> = ["Ready", "NodeHealthy", "BootstrapReady", "UpToDate"]
        .into_iter()
        .map(condition)
        .collect();
    let items: Vec<_> = (0..10_000)
        .map(|number| {
            let text = machine(&format!("m{number}"), &deep(5));
            let mut machine: Value = serde_json::from_str(&text).unwrap();
            machine["status"] = json!({"phase": "Running", "conditions": conditions});
            machine.to_string()
        })
        .collect();
    let text = list(&items);
    for _ in 0..3 {
        let begin = std::time::Instant::now();
        let whole: ObjectList<Machine> = serde_json::from_str(&text).unwrap();
        let at_once = begin.elapsed();
        let begin = std::time::Instant::now();
        let each: ObjectList<Item<Machine>> = serde_json::from_str(&text).unwrap();
        let one_by_one = begin.elapsed();
        println!(
            "{} bytes: {at_once:?} at once, {one_by_one:?} one by one",
            text.len()
        );
        assert!(whole.items.iter().eq(each.items.iter().map(|item| &item.0)));
    }
}
