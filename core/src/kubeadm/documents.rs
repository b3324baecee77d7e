//! Tatara's documents, before the user's parts are merged over them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::config::{ClusterDocuments, ConfigError};
use super::input::{
    CERTIFICATES_DIR, CONTROL_PLANE_TAINT, ClusterInput, Discovery, LocalApi, NodeInput,
};
use super::labels;
use super::network::dns_address;

const KUBEADM: &str = "kubeadm.k8s.io/v1beta4";
/// Machines join only once the API has answered, so an API that does not answer for this long has a
/// fault to report; kubeadm's default is five minutes.
const DISCOVERY_TIMEOUT: &str = "2m0s";
/// `kubeadm init` always creates a bootstrap token, valid for 24 hours by default. Its phase
/// cannot be skipped, as it also makes the cluster-info and the rights that joins need. So it makes
/// one of its own choice, which no file of ours holds, and which is dead on arrival; every machine
/// joins by a token of its own. (`--skip-token-print` keeps it out of the log.)
const FIRST_TOKEN_TTL: &str = "1s";

pub(super) fn of_cluster(cluster: &ClusterInput) -> Result<ClusterDocuments, ConfigError> {
    let services = cluster.service_cidrs.first().cloned().unwrap_or_default();
    let Some(dns) = dns_address(&services) else {
        return Err(ConfigError::ServiceNetwork { value: services });
    };
    Ok(ClusterDocuments {
        cluster_configuration: cluster_configuration(cluster),
        kubelet_configuration: json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd",
            "clusterDNS": [dns.to_string()],
            "clusterDomain": cluster.service_domain,
        }),
        kube_proxy_configuration: json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clusterCIDR": cluster.pod_cidrs.join(","),
        }),
    })
}

/// Each machine's own address is not among the names: kubeadm adds it to that machine's
/// certificate, and here it would go to all of them and make the document depend on who came first.
fn cluster_configuration(cluster: &ClusterInput) -> Value {
    let mut names = vec![&cluster.endpoint.host];
    for name in &cluster.cert_sans {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    json!({
        "apiVersion": KUBEADM,
        "kind": "ClusterConfiguration",
        "apiServer": {"certSANs": names},
        "certificatesDir": CERTIFICATES_DIR,
        "clusterName": cluster.name,
        "controlPlaneEndpoint": cluster.endpoint.to_string(),
        // As the authorities that we make; and a dozen RSA keys take their time to find.
        "encryptionAlgorithm": "ECDSA-P256",
        "kubernetesVersion": cluster.version.to_string(),
        "networking": {
            "dnsDomain": cluster.service_domain,
            "podSubnet": cluster.pod_cidrs.join(","),
            "serviceSubnet": cluster.service_cidrs.join(","),
        },
    })
}

/// What `InitConfiguration` has on any machine.
pub(super) fn init_anywhere() -> Value {
    json!({
        "apiVersion": KUBEADM,
        "kind": "InitConfiguration",
        "bootstrapTokens": [{"ttl": FIRST_TOKEN_TTL}],
        // Its advice is for people who join machines by hand.
        "skipPhases": ["show-join-command"],
    })
}

pub(super) fn init(node: &NodeInput, api: &LocalApi) -> Value {
    let mut document = init_anywhere();
    document["localAPIEndpoint"] = json!({
        "advertiseAddress": api.advertise_address,
        "bindPort": api.bind_port,
    });
    document["nodeRegistration"] = node_registration(node, &control_plane_taints(node));
    document
}

/// kubeadm taints a control plane only if it is given no list of taints.
fn control_plane_taints(node: &NodeInput) -> Vec<Taint> {
    let own = Taint {
        key: CONTROL_PLANE_TAINT.to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let further = node
        .taints
        .iter()
        .filter(|taint| (&taint.key, &taint.effect) != (&own.key, &own.effect));
    core::iter::once(&own).chain(further).cloned().collect()
}

/// What `JoinConfiguration` has on any machine.
pub(super) fn join_anywhere() -> Value {
    json!({
        "apiVersion": KUBEADM,
        "kind": "JoinConfiguration",
        "caCertPath": format!("{CERTIFICATES_DIR}/ca.crt"),
        "timeouts": {"discovery": DISCOVERY_TIMEOUT},
    })
}

/// `api` is that of a control plane; a worker has none.
pub(super) fn join(node: &NodeInput, discovery: &Discovery, api: Option<&LocalApi>) -> Value {
    let mut document = join_anywhere();
    document["discovery"] = json!({"bootstrapToken": {
        "apiServerEndpoint": discovery.endpoint.to_string(),
        "caCertHashes": discovery.ca_cert_hashes,
        "token": discovery.token.expose_secret(),
    }});
    let Some(api) = api else {
        document["nodeRegistration"] = node_registration(node, &node.taints);
        return document;
    };
    document["nodeRegistration"] = node_registration(node, &control_plane_taints(node));
    document["controlPlane"] = json!({"localAPIEndpoint": {
        "advertiseAddress": api.advertise_address,
        "bindPort": api.bind_port,
    }});
    document
}

/// What a machine upgrades with. How strictly kubeadm checks its host and pulls images, and its
/// patches of manifests, were given when it was made a node: `made_with` is its part of an
/// `InitConfiguration` or `JoinConfiguration`.
pub(super) fn upgrade(made_with: &Map<String, Value>) -> Value {
    let registration = made_with.get("nodeRegistration");
    let of_node = |field: &str| Some((field.to_owned(), registration?.get(field)?.clone()));
    let patches = made_with.get("patches");
    let patches = patches.map(|patches| ("patches".to_owned(), patches.clone()));
    let same: Map<String, Value> = [
        "ignorePreflightErrors",
        "imagePullPolicy",
        "imagePullSerial",
    ]
    .into_iter()
    .filter_map(of_node)
    .chain(patches)
    .collect();
    json!({
        "apiVersion": KUBEADM,
        "kind": "UpgradeConfiguration",
        "apply": same,
        "node": same,
    })
}

fn node_registration(node: &NodeInput, taints: &[Taint]) -> Value {
    let mut arguments = vec![json!({"name": "provider-id", "value": node.provider_id})];
    let (labels, _) = labels::split(&node.labels);
    if !labels.is_empty() {
        arguments.push(json!({"name": "node-labels", "value": joined(&labels)}));
    }
    json!({
        "name": node.name,
        "criSocket": node.cri_socket,
        "kubeletExtraArgs": arguments,
        "taints": taints.iter().map(taint).collect::<Vec<_>>(),
    })
}

fn joined(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<_> = labels
        .iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    pairs.join(",")
}

fn taint(taint: &Taint) -> Value {
    match &taint.value {
        Some(value) => json!({"key": taint.key, "value": value, "effect": taint.effect}),
        None => json!({"key": taint.key, "effect": taint.effect}),
    }
}
