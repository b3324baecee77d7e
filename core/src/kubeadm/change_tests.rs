use serde_json::json;

use super::*;
use crate::kubeadm::Endpoint;

const DOCUMENT: &str = r#"
apiServer:
  certSANs: [10.0.0.1, by-hand.example]
  extraArgs:
  - {name: audit-log-maxage, value: "7"}
  - {name: v, value: "2"}
apiVersion: kubeadm.k8s.io/v1beta4
clusterName: one
controllerManager: {}
kind: ClusterConfiguration
kubernetesVersion: v1.35.4
networking: {podSubnet: 10.244.0.0/16}
"#;

fn input() -> ClusterInput {
    let version = "v1.36.3".parse().expect("a version");
    let endpoint = Endpoint {
        host: "10.0.0.1".into(),
        port: 6443,
    };
    let network = json!({
        "pods": { "cidrBlocks": ["10.244.0.0/16"] },
        "services": { "cidrBlocks": ["10.96.0.0/16"] },
        "serviceDomain": "cluster.local",
    });
    let network = serde_json::from_value(network).expect("networks");
    ClusterInput::of("one", &network, version, endpoint)
}

fn carried(kept: Kept, document: &str, old: Value, new: Value) -> Option<Value> {
    let of = |value: Value| value.as_object().cloned().expect("an object");
    let changed = change(&input(), kept, document, &of(old), &of(new)).expect("it is carried");
    changed.map(|text| serde_saphyr::from_str(&text).expect("YAML"))
}

fn arguments(all: &[(&str, &str)]) -> Value {
    let all = all.iter();
    let all = all.map(|(name, value)| json!({ "name": name, "value": value }));
    json!({ "apiServer": { "extraArgs": all.collect::<Vec<_>>() } })
}

#[test]
fn only_what_was_edited_changes() {
    let (old, new) = (
        arguments(&[("v", "2"), ("gone", "1")]),
        arguments(&[("v", "4"), ("new", "1")]),
    );
    let after = carried(Kept::Cluster, DOCUMENT, old.clone(), new.clone()).expect("a change");
    let mut expected: Value = serde_saphyr::from_str(DOCUMENT).expect("YAML");
    expected["apiServer"]["extraArgs"] = json!([
        { "name": "audit-log-maxage", "value": "7" },
        { "name": "v", "value": "4" },
        { "name": "new", "value": "1" },
    ]);
    assert_eq!(after, expected);
    // a second time, after a manager that was killed in between
    let text = serde_saphyr::to_string(&after).expect("YAML");
    assert_eq!(carried(Kept::Cluster, &text, old, new), None);
}

#[test]
fn what_is_removed_is_as_it_would_be_without_it() {
    let sans = |all: &[&str]| json!({ "apiServer": { "certSANs": all } });
    let after = carried(Kept::Cluster, DOCUMENT, sans(&["a"]), sans(&["b"])).expect("a change");
    assert_eq!(
        after["apiServer"]["certSANs"],
        json!(["10.0.0.1", "by-hand.example", "b"])
    );

    let kubelet = "apiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: cgroupfs\nkind: KubeletConfiguration\nmaxPods: 50\nsyncFrequency: 0s\n";
    let old = json!({ "cgroupDriver": "cgroupfs", "maxPods": 50 });
    let after = carried(Kept::Kubelet, kubelet, old, json!({})).expect("a change");
    let expected = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd", "syncFrequency": "0s",
    });
    assert_eq!(after, expected);
}

#[test]
fn a_part_that_was_missing_is_made() {
    let new = json!({ "scheduler": { "extraArgs": [{ "name": "v", "value": "1" }] } });
    let after = carried(Kept::Cluster, DOCUMENT, json!({}), new.clone()).expect("a change");
    assert_eq!(after["scheduler"], new["scheduler"]);
    let back = serde_saphyr::to_string(&after).expect("YAML");
    let after = carried(Kept::Cluster, &back, new, json!({})).expect("a change");
    assert_eq!(after["scheduler"]["extraArgs"], json!([]));
}

#[test]
fn a_document_of_another_version_is_left_alone() {
    let old = DOCUMENT.replace("v1beta4", "v1beta3");
    let refused = |document: &str| {
        let error = change(
            &input(),
            Kept::Cluster,
            document,
            &Map::new(),
            &Map::from_iter([("scheduler".to_owned(), json!({}))]),
        );
        error.expect_err("refused").to_string()
    };
    assert!(
        refused(&old).starts_with("its apiVersion is \"kubeadm.k8s.io/v1beta3\""),
        "{}",
        refused(&old)
    );
    assert_eq!(refused("a: b\n: c: d\n"), "line 2 is not YAML");
    assert_eq!(refused(""), "it is empty, or has no fields");
}
