use serde_json::json;

use super::*;
use crate::kubeadm::{Endpoint, Kept};

/// As kubeadm keeps it.
const DOCUMENT: &str = r#"
apiServer:
  certSANs: [10.0.0.1, by-hand.example]
  extraArgs:
  - {name: v, value: "2"}
apiVersion: kubeadm.k8s.io/v1beta4
caCertificateValidityPeriod: 87600h0m0s
clusterName: one
controlPlaneEndpoint: 10.0.0.1:6443
controllerManager: {}
imageRepository: registry.k8s.io
kind: ClusterConfiguration
kubernetesVersion: v1.35.4
networking: {dnsDomain: cluster.local, podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
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

fn of(document: &str) -> Option<Owned> {
    owned(&input(), &Map::new(), Compared::WithSettings, document).expect("it is compared")
}

#[test]
fn what_the_spec_fixes_is_set_back_and_named() {
    let table = [
        (
            "cluster.local",
            "other.local",
            "networking.dnsDomain is \"other.local\", wanted \"cluster.local\"",
        ),
        (
            "10.244.0.0/16",
            "10.9.0.0/16",
            "networking.podSubnet is \"10.9.0.0/16\", wanted \"10.244.0.0/16\"",
        ),
        (
            "10.96.0.0/16",
            "10.97.0.0/16",
            "networking.serviceSubnet is \"10.97.0.0/16\", wanted \"10.96.0.0/16\"",
        ),
        (
            "10.0.0.1:6443",
            "10.0.0.2:6443",
            "controlPlaneEndpoint is \"10.0.0.2:6443\", wanted \"10.0.0.1:6443\"",
        ),
        (
            "[10.0.0.1, by-hand.example]",
            "[by-hand.example]",
            "apiServer.certSANs is [\"by-hand.example\"], wanted [\"by-hand.example\",\"10.0.0.1\"]",
        ),
    ];
    let before: Value = serde_saphyr::from_str(DOCUMENT).expect("YAML");
    for (ours, theirs, sentence) in table {
        let edited = DOCUMENT.replacen(ours, theirs, 1);
        assert_ne!(edited, DOCUMENT, "{ours}");
        let found = of(&edited).unwrap_or_else(|| panic!("{theirs} differs"));
        assert_eq!(found.differences, [sentence]);
        let mut after: Value = serde_saphyr::from_str(&found.configuration).expect("YAML");
        // the order of names is nobody's
        if let Some(names) = after["apiServer"]["certSANs"].as_array_mut() {
            names.sort_by_key(ToString::to_string);
        }
        assert_eq!(after, before, "{theirs}");
        assert_eq!(of(&found.configuration), None, "it is set back once");
    }
}

#[test]
fn what_the_spec_does_not_fix_stays_and_nothing_is_written_where_nothing_differs() {
    assert_eq!(of(DOCUMENT), None);
    let edits = [
        ("v1.35.4", "v1.36.3"),
        ("registry.k8s.io", "registry.example"),
        ("clusterName: one", "clusterName: kubernetes"),
        ("value: \"2\"", "value: \"4\""),
        ("by-hand.example", "other.example"),
    ];
    for (ours, theirs) in edits {
        let edited = DOCUMENT.replacen(ours, theirs, 1);
        assert_ne!(edited, DOCUMENT, "{ours}");
        assert_eq!(of(&edited), None, "{theirs}");
    }
    // the user's own spelling of a network is what kubeadm was given
    let spelled = json!({ "networking": { "podSubnet": "10.244.0.0/016" } });
    let user = spelled.as_object().expect("an object");
    let document = DOCUMENT.replacen("10.244.0.0/16", "10.244.0.0/016", 1);
    let found = owned(&input(), user, Compared::WithSettings, &document).expect("it is compared");
    assert_eq!(found, None);
}

#[test]
fn what_was_taken_out_is_put_back_and_what_is_no_yaml_is_said() {
    let edited = DOCUMENT.replacen("dnsDomain: cluster.local, ", "", 1);
    let found = of(&edited).expect("it differs").differences;
    assert_eq!(
        found,
        ["networking.dnsDomain is not set, wanted \"cluster.local\""]
    );
    let refused =
        |text: &str| owned(&input(), &Map::new(), Compared::Fixed, text).expect_err("no document");
    for (text, why) in [
        ("a: canary\nb: [canary\n", "line "),
        ("", "it is empty"),
        ("canary", "it is empty"),
    ] {
        let says = refused(text).sentence(Kept::Cluster, "c");
        let cause = format!(
            "ConfigMap kube-system/kubeadm-config of Cluster c, key ClusterConfiguration: {why}"
        );
        assert!(says.starts_with(&cause), "{text:?}: {says}");
        assert!(
            says.contains("kubeadm init phase upload-config kubeadm --config FILE"),
            "{says}"
        );
        assert!(!says.contains("canary"), "{says}");
    }
}

#[test]
fn image_repositories_and_arguments_that_the_cluster_sets_are_set_back_and_no_others() {
    let user = json!({
        "imageRepository": "registry.example",
        "apiServer": { "extraArgs": [{ "name": "v", "value": "2" }, { "name": "audit-log-maxage", "value": "9" }] },
        "scheduler": { "extraArgs": [] },
        "etcd": { "local": { "extraArgs": [{ "name": "quota-backend-bytes", "value": "1" }] } },
        "dns": { "imageRepository": "" },
    });
    let user = user.as_object().expect("an object");
    let settled = DOCUMENT
        .replacen("registry.k8s.io", "registry.example", 1)
        .replacen(
            "  - {name: v, value: \"2\"}\n",
            "  - {name: v, value: \"2\"}\n  - {name: by-hand, value: \"1\"}\n  - {name: audit-log-maxage, value: \"9\"}\n",
            1,
        )
        + "etcd: {local: {dataDir: /var/lib/etcd, extraArgs: [{name: quota-backend-bytes, value: \"1\"}]}}\n";
    let of = |compared, document: &str| {
        let found = owned(&input(), user, compared, document).expect("it is compared");
        found.map(|found| {
            let again = owned(&input(), user, compared, &found.configuration);
            assert_eq!(again.expect("it is compared"), None, "it is set back once");
            found.differences
        })
    };
    assert_eq!(of(Compared::WithSettings, &settled), None);
    for (ours, theirs, sentence) in [
        (
            "registry.example",
            "registry.k8s.io",
            "imageRepository is \"registry.k8s.io\", wanted \"registry.example\"",
        ),
        (
            "{name: v, value: \"2\"}",
            "{name: v, value: \"4\"}",
            "apiServer.extraArgs[v].value is \"4\", wanted \"2\"",
        ),
        (
            "  - {name: audit-log-maxage, value: \"9\"}\n",
            "",
            "apiServer.extraArgs[audit-log-maxage] is not set, wanted {\"name\":\"audit-log-maxage\",\"value\":\"9\"}",
        ),
        (
            "value: \"1\"}]",
            "value: \"8\"}]",
            "etcd.local.extraArgs[quota-backend-bytes].value is \"8\", wanted \"1\"",
        ),
    ] {
        let edited = settled.replacen(ours, theirs, 1);
        assert_ne!(edited, settled, "{ours}");
        let found = of(Compared::WithSettings, &edited).unwrap_or_default();
        assert_eq!(found, [sentence]);
        // an edit of the Cluster is on its way there
        assert_eq!(of(Compared::Fixed, &edited), None, "{ours}");
    }
    let other_version = settled.replacen("v1beta4", "v1beta3", 1);
    let other_version = other_version.replacen("registry.example", "registry.k8s.io", 1);
    assert_eq!(of(Compared::WithSettings, &other_version), None);
}

#[test]
fn a_record_of_too_many_bytes_or_aliases_is_refused_before_it_is_read() {
    let long = format!("{DOCUMENT}\n# {}", "x".repeat(256 << 10));
    let mut aliased = format!("{DOCUMENT}\na: &a {}\nb:\n", "x".repeat(100 << 10));
    aliased += &"- *a\n".repeat(60);
    for (document, told) in [(long, "bytes"), (aliased, "stands for too much")] {
        let refused = owned(&input(), &Map::new(), Compared::Fixed, &document);
        let refused = refused.expect_err("too much").to_string();
        assert!(refused.contains(told), "{refused}");
    }
}
