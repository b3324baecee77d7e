//! What a configuration is made from.

use core::fmt;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use secrecy::SecretString;

use super::version::KubernetesVersion;
use crate::api::cluster::ClusterNetwork;

/// Where kubeadm keeps certificates and keys on a host.
pub const CERTIFICATES_DIR: &str = "/etc/kubernetes/pki";
/// Where containerd serves the container runtime interface.
pub const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";
/// Taint that keeps ordinary pods off control-plane nodes.
pub const CONTROL_PLANE_TAINT: &str = "node-role.kubernetes.io/control-plane";

/// What kubeadm needs to know of a cluster: the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInput {
    /// The Cluster's name.
    pub name: String,
    /// Version of the control plane.
    pub version: KubernetesVersion,
    /// Where the API is served.
    pub endpoint: Endpoint,
    /// Networks of pods: one, or one of each family.
    pub pod_cidrs: Vec<String>,
    /// Networks of Services: one, or one of each family.
    pub service_cidrs: Vec<String>,
    /// DNS domain of Services.
    pub service_domain: String,
    /// Names and addresses that the API server's certificate shall hold beside the endpoint's;
    /// kubeadm adds each machine's own address and name.
    pub cert_sans: Vec<String>,
}

impl ClusterInput {
    /// What kubeadm is told of a cluster.
    pub fn of(
        name: &str,
        network: &ClusterNetwork,
        version: KubernetesVersion,
        endpoint: Endpoint,
    ) -> Self {
        Self {
            name: name.to_owned(),
            version,
            pod_cidrs: network.pods.cidr_blocks.clone(),
            service_cidrs: network.services.cidr_blocks.clone(),
            service_domain: network.service_domain.clone(),
            cert_sans: vec![endpoint.host.clone()],
            endpoint,
        }
    }
}

/// Where an API is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// IP address or DNS name.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// What kubeadm needs to know of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInput {
    /// Name of the Node.
    pub name: String,
    /// Provider ID ([`crate::api::names::provider_id`]), set before the Node exists.
    pub provider_id: String,
    /// Taints that the Node registers with.
    pub taints: Vec<Taint>,
    /// Labels of the Node. Those that a kubelet may not set are left out here and are the
    /// controller's ([`super::labels::split`]).
    pub labels: BTreeMap<String, String>,
    /// Where the container runtime listens, such as [`CRI_SOCKET`].
    pub cri_socket: String,
}

/// The API server of one control-plane machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalApi {
    /// The machine's own IP address.
    pub advertise_address: String,
    /// Port that its API server listens on.
    pub bind_port: u16,
}

/// How a joining machine finds the cluster and knows that it is the right one.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Where the API is served.
    pub endpoint: Endpoint,
    /// Bootstrap token, `id.secret`.
    pub token: SecretString,
    /// `sha256:<hex>` of the public keys of the CAs that are trusted.
    pub ca_cert_hashes: Vec<String>,
}
