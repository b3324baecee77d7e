//! What kubeadm is told of a Cluster.

use crate::api::cluster::ClusterNetwork;
use crate::core::kubeadm::{self, ClusterInput};

/// What kubeadm is told of a cluster.
pub fn cluster_input(
    name: &str,
    network: &ClusterNetwork,
    version: kubeadm::KubernetesVersion,
    endpoint: kubeadm::Endpoint,
) -> ClusterInput {
    ClusterInput {
        name: name.to_owned(),
        version,
        pod_cidrs: network.pods.cidr_blocks.clone(),
        service_cidrs: network.services.cidr_blocks.clone(),
        service_domain: network.service_domain.clone(),
        cert_sans: vec![endpoint.host.clone()],
        endpoint,
    }
}
