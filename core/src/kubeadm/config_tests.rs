use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;
use crate::kubeadm::{CRI_SOCKET, Endpoint};

#[path = "config_shape_tests.rs"]
mod shapes;
#[path = "config_upgrade_tests.rs"]
mod upgrades;

fn cluster() -> ClusterInput {
    ClusterInput {
        name: "forge".into(),
        version: "v1.36.3".parse().unwrap(),
        endpoint: Endpoint {
            host: "10.77.0.100".into(),
            port: 6443,
        },
        pod_cidrs: vec!["10.244.0.0/16".into()],
        service_cidrs: vec!["10.96.0.0/16".into()],
        service_domain: "cluster.local".into(),
        cert_sans: vec![],
    }
}

fn node() -> NodeInput {
    NodeInput {
        name: "host-a".into(),
        provider_id: "tatara://ssh/1b4e28ba".into(),
        taints: vec![],
        labels: BTreeMap::new(),
        cri_socket: CRI_SOCKET.into(),
    }
}

fn api() -> LocalApi {
    LocalApi {
        advertise_address: "10.77.0.11".into(),
        bind_port: 6443,
    }
}

fn discovery() -> Discovery {
    Discovery {
        endpoint: cluster().endpoint,
        token: "abcdef.0123456789abcdef".into(),
        ca_cert_hashes: vec![format!("sha256:{}", "0".repeat(64))],
    }
}

fn user(value: &Value) -> ClusterProviderSpec {
    let mut value = value.clone();
    value["apiVersion"] = json!("tatara.dev/v1alpha1");
    value["kind"] = json!("ClusterProviderSpec");
    ClusterProviderSpec::decode(Some(&value)).unwrap()
}

/// What a user writes for hosts as the quickstart makes them: cgroup v1, no registry, a connection
/// table that cannot be resized.
fn quickstart() -> ClusterProviderSpec {
    let registration = json!({
        "criSocket": "unix:///run/containerd/containerd.sock",
        "imagePullPolicy": "Never",
        "ignorePreflightErrors": ["SystemVerification"],
    });
    user(&json!({
        "kubeadm": {
            "initConfiguration": {"nodeRegistration": registration},
            "joinConfiguration": {"nodeRegistration": registration},
        },
        "kubeletConfiguration": {
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": false,
            "cgroupRoot": "/",
            "evictionHard": {
                "imagefs.available": "0%", "nodefs.available": "0%", "memory.available": "100Mi"
            },
            "imageGCHighThresholdPercent": 100,
        },
        "kubeProxyConfiguration": {
            "mode": "iptables",
            "conntrack": {"maxPerCore": 0, "min": 0},
        },
    }))
}

fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap()
}

fn refusals(result: Result<impl Sized, ConfigError>) -> Vec<String> {
    match result {
        Err(ConfigError::Contradictions(all)) => all.iter().map(ToString::to_string).collect(),
        Err(error) => panic!("{error}"),
        Ok(_) => vec![],
    }
}

#[test]
fn init_reads_four_documents_of_ours() {
    let text = init(&cluster(), &node(), &api(), &ClusterProviderSpec::default()).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn join_reads_one_document_with_pinned_discovery() {
    let mut node = node();
    node.taints = vec![Taint {
        key: "dedicated".into(),
        value: Some("gpu".into()),
        effect: "NoSchedule".into(),
        time_added: None,
    }];
    node.labels = [
        ("rack", "r1"),
        ("node-role.kubernetes.io/worker", ""),
        ("topology.kubernetes.io/zone", "z1"),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()))
    .into();
    let text = join(&node, &discovery(), None, &ClusterProviderSpec::default()).unwrap();
    insta::assert_snapshot!(text.expose_secret());
}

#[test]
fn a_control_plane_joins_with_its_own_api_and_the_taint() {
    let text = join(
        &node(),
        &discovery(),
        Some(&api()),
        &ClusterProviderSpec::default(),
    );
    let text = text.unwrap();
    let document: serde_json::Value = serde_saphyr::from_str(text.expose_secret()).unwrap();
    let api = serde_json::json!({"advertiseAddress": api().advertise_address, "bindPort": api().bind_port});
    assert_eq!(document["controlPlane"]["localAPIEndpoint"], api);
    let taint = &document["nodeRegistration"]["taints"][0];
    assert_eq!(taint["key"], "node-role.kubernetes.io/control-plane");
}

#[test]
fn the_settings_that_cgroup_v1_hosts_need_go_through_the_fields_of_any_user() {
    let user = quickstart();
    check(&cluster(), &user).unwrap();
    insta::assert_snapshot!(
        "quickstart_init",
        init(&cluster(), &node(), &api(), &user).unwrap()
    );
    insta::assert_snapshot!(
        "quickstart_join",
        join(&node(), &discovery(), None, &user)
            .unwrap()
            .expose_secret()
    );
}

#[test]
fn two_families_of_addresses_are_joined_and_an_ipv6_endpoint_is_bracketed() {
    let mut cluster = cluster();
    cluster.endpoint.host = "fd00::100".into();
    cluster.pod_cidrs = vec!["fd00:1::/56".into(), "10.244.0.0/16".into()];
    cluster.service_cidrs = vec!["fd00:2::/112".into(), "10.96.0.0/16".into()];
    let made = cluster_documents(&cluster, &ClusterProviderSpec::default()).unwrap();
    let networking = &made.cluster_configuration["networking"];
    assert_eq!(networking["podSubnet"], "fd00:1::/56,10.244.0.0/16");
    assert_eq!(networking["serviceSubnet"], "fd00:2::/112,10.96.0.0/16");
    assert_eq!(
        made.cluster_configuration["controlPlaneEndpoint"],
        "[fd00::100]:6443"
    );
    assert_eq!(
        made.kubelet_configuration["clusterDNS"],
        json!(["fd00:2::a"])
    );
    assert_eq!(
        made.kube_proxy_configuration["clusterCIDR"],
        "fd00:1::/56,10.244.0.0/16"
    );
}

#[test]
fn a_control_plane_keeps_its_taint_beside_those_of_the_machine_unless_the_user_lists_others() {
    let taint = |key: &str| Taint {
        key: key.into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    };
    let mut node = node();
    node.taints = vec![
        taint("dedicated"),
        taint("node-role.kubernetes.io/control-plane"),
    ];
    let keys = |user: &ClusterProviderSpec| -> Vec<String> {
        let text = init(&cluster(), &node, &api(), user).unwrap();
        documents(&text)[0]["nodeRegistration"]["taints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|taint| taint["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        keys(&ClusterProviderSpec::default()),
        ["node-role.kubernetes.io/control-plane", "dedicated"]
    );
    let untainted =
        user(&json!({"kubeadm": {"initConfiguration": {"nodeRegistration": {"taints": []}}}}));
    assert_eq!(keys(&untainted), Vec::<String>::new());
}

#[test]
fn arguments_of_the_user_join_ours_and_names_for_the_certificate_are_united() {
    let user = user(&json!({"kubeadm": {
        "clusterConfiguration": {"apiServer": {
            "certSANs": ["api.example.com"],
            "extraArgs": [{"name": "audit-log-maxage", "value": "30"}],
        }},
        "joinConfiguration": {"nodeRegistration": {
            "kubeletExtraArgs": [{"name": "v", "value": "4"}],
        }},
    }}));
    let made = cluster_documents(&cluster(), &user).unwrap();
    assert_eq!(
        made.cluster_configuration["apiServer"],
        json!({
            "certSANs": ["10.77.0.100", "api.example.com"],
            "extraArgs": [{"name": "audit-log-maxage", "value": "30"}],
        })
    );
    let text = join(&node(), &discovery(), None, &user).unwrap();
    assert_eq!(
        documents(text.expose_secret())[0]["nodeRegistration"]["kubeletExtraArgs"],
        json!([
            {"name": "provider-id", "value": "tatara://ssh/1b4e28ba"},
            {"name": "v", "value": "4"},
        ])
    );
}

#[test]
fn every_contradiction_is_told_at_once_with_its_path_its_value_and_the_right_place() {
    let user = user(&json!({
        "kubeadm": {
            "clusterConfiguration": {
                "apiVersion": "kubeadm.k8s.io/v1beta3",
                "clusterName": "other",
                "kubernetesVersion": "v1.35.4",
                "controlPlaneEndpoint": "api.example.com:6443",
                "networking": {
                    "podSubnet": "10.0.0.0/8", "serviceSubnet": "10.97.0.0/16", "dnsDomain": "k8s.local"
                },
                "certificatesDir": "/etc/pki",
                "etcd": {"external": {"endpoints": ["https://10.0.0.1:2379"]}},
                "controllerManager": {"extraArgs": [{"name": "cluster-cidr", "value": "10.0.0.0/8"}]},
            },
            "initConfiguration": {
                "bootstrapTokens": [{"token": "abcdef.0123456789abcdef", "ttl": "0s"}],
                "localAPIEndpoint": {"advertiseAddress": "10.0.0.1", "bindPort": 8443},
                "nodeRegistration": {
                    "name": "me",
                    "criSocket": "unix:///run/crio/crio.sock",
                    "kubeletExtraArgs": [{"name": "provider-id", "value": "aws:///x"}],
                },
                "skipPhases": ["addon/kube-proxy", "upload-config/kubeadm"],
                "dryRun": true,
            },
        },
        "kubeletConfiguration": {
            "clusterDomain": "k8s.local", "clusterDNS": ["10.97.0.10"], "providerID": "x", "registerNode": false
        },
        "kubeProxyConfiguration": {"clusterCIDR": "10.0.0.0/8"},
    }));
    insta::assert_snapshot!(refusals(init(&cluster(), &node(), &api(), &user)).join("\n"));
}

/// Only etcd's data may be elsewhere: the reset finds them by etcd's own manifest, and they are in
/// a folder of their own.
#[test]
fn what_a_reset_would_not_find_cannot_be_put_elsewhere() {
    let arguments: Vec<_> = [
        "root-dir",
        "cert-dir",
        "config",
        "kubeconfig",
        "bootstrap-kubeconfig",
        "pod-manifest-path",
    ]
    .iter()
    .map(|name| json!({"name": name, "value": "/srv/kubelet"}))
    .collect();
    let registration = json!({"nodeRegistration": {"kubeletExtraArgs": arguments}});
    let elsewhere = user(&json!({
        "kubeadm": {
            "clusterConfiguration": {"etcd": {"local": {
                "dataDir": "srv/etcd",
                "extraArgs": [{"name": "wal-dir", "value": "/srv/wal"}, {"name": "data-dir", "value": "/srv/etcd"}],
            }}},
            "initConfiguration": registration,
            "joinConfiguration": registration,
        },
        "kubeletConfiguration": {"podLogsDir": "/srv/logs", "staticPodPath": "/srv/pods"},
    }));
    insta::assert_snapshot!(refusals(check(&cluster(), &elsewhere)).join("\n"));

    let etcd = user(&json!({
        "kubeadm": {"clusterConfiguration": {"etcd": {"local": {"dataDir": "/srv/etcd"}}}},
        "kubeletConfiguration": {"podLogsDir": "/var/log/pods"},
    }));
    check(&cluster(), &etcd).unwrap();
    for path in ["", "/", "/srv/my etcd"] {
        let wrong =
            json!({"kubeadm": {"clusterConfiguration": {"etcd": {"local": {"dataDir": path}}}}});
        let told = refusals(check(&cluster(), &user(&wrong)));
        assert!(told[0].contains("etcd.local.dataDir"), "{path}: {told:?}");
    }
}

#[test]
fn equal_values_are_no_contradiction() {
    let user = user(&json!({
        "kubeadm": {
            "clusterConfiguration": {
                "apiVersion": "kubeadm.k8s.io/v1beta4",
                "kind": "ClusterConfiguration",
                "clusterName": "forge",
                "kubernetesVersion": "1.36.3",
                "controlPlaneEndpoint": "10.77.0.100:6443",
                "networking": {
                    "podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/16", "dnsDomain": "cluster.local"
                },
                "certificatesDir": "/etc/kubernetes/pki",
            },
            "initConfiguration": {
                "localAPIEndpoint": {"advertiseAddress": "10.77.0.11", "bindPort": 6443},
                "nodeRegistration": {
                    "name": "host-a",
                    "kubeletExtraArgs": [{"name": "provider-id", "value": "tatara://ssh/1b4e28ba"}],
                },
                "dryRun": false,
            },
            "joinConfiguration": {
                "discovery": {"bootstrapToken": {"apiServerEndpoint": "10.77.0.100:6443"}},
            },
        },
        "kubeletConfiguration": {"clusterDomain": "cluster.local", "clusterDNS": ["10.96.0.10"]},
        "kubeProxyConfiguration": {"clusterCIDR": "10.244.0.0/16"},
    }));
    check(&cluster(), &user).unwrap();
    init(&cluster(), &node(), &api(), &user).unwrap();
    join(&node(), &discovery(), None, &user).unwrap();
}

#[test]
fn a_contradiction_never_repeats_a_token() {
    let user = user(&json!({"kubeadm": {
        "initConfiguration": {"bootstrapTokens": [{"token": "canary.0123456789abcdef"}], "certificateKey": "canary"},
        "joinConfiguration": {
            "discovery": {"tlsBootstrapToken": "canary.0123456789abcdef", "bootstrapToken": {"token": "canary.0123456789abcdef"}},
            "controlPlane": {"certificateKey": "canary"},
        },
    }}));
    for told in [
        refusals(init(&cluster(), &node(), &api(), &user)),
        refusals(join(&node(), &discovery(), None, &user)),
        refusals(check(&cluster(), &user)),
    ] {
        assert!(!told.is_empty());
        assert!(!told.join("\n").contains("canary"), "{told:?}");
    }
}
