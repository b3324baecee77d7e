//! Where the API of a Cluster is served.

use std::sync::Arc;

use kube::ResourceExt;

use crate::providers::ssh::target::node_address;
use crate::store::Stores;
use tatara_core::Key;
use tatara_core::api::names;
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Cluster, ClusterProviderSpec, Host, Machine};
use tatara_core::kubeadm::Endpoint;

/// The endpoint that the Cluster names; without one, the address of its first control-plane
/// machine.
pub fn cluster_endpoint(
    stores: &Stores,
    namespace: &str,
    spec: Option<&ClusterProviderSpec>,
    first: Option<&String>,
) -> Option<Endpoint> {
    if let Some(endpoint) = spec.and_then(|spec| spec.control_plane_endpoint.as_ref()) {
        return Some(Endpoint {
            host: endpoint.host.clone(),
            port: endpoint.port,
        });
    }
    let host = claimed_host(stores, namespace, first?);
    let host = host.filter(|host| unreadable(host.as_ref()).is_none());
    let address = match host {
        Some(host) => node_address(&host),
        None => machine_address(stores.machines.by_uid(first?)?.as_ref())?,
    };
    Some(Endpoint {
        host: address,
        port: 6443,
    })
}

/// What a user does where the address of a Cluster's API leads nowhere: the field that it comes
/// from, and what can be done about it.
pub fn address_remedy(
    cluster: &Cluster,
    spec: Option<&ClusterProviderSpec>,
    is_external: bool,
) -> String {
    let name = cluster.name_any();
    if is_external {
        let secret = names::kubeconfig_secret(&name);
        return format!(
            "Correct clusters[].cluster.server of the kubeconfig in Secret {secret}, key value"
        );
    }
    let written = spec.and_then(|spec| spec.control_plane_endpoint.as_ref());
    if written.is_some() {
        // admission keeps it once the control plane is initialised
        return format!(
            "That address is spec.providerSpec.value.controlPlaneEndpoint.host of Cluster {name}: if it is a name, correct what that resolves to, and what answers there; it cannot be changed any more, so for another one create a new Cluster"
        );
    }
    format!(
        "That address is the one of the first control-plane machine of Cluster {name}, which has no spec.providerSpec.value.controlPlaneEndpoint: see what answers there; for another address create a new Cluster with that field"
    )
}

/// The Host of a Machine, if exactly one Host of that namespace has its claim.
pub fn claimed_host(stores: &Stores, namespace: &str, uid: &str) -> Option<Arc<Host>> {
    let mut found = stores.hosts.by(&Key::Claim(uid.to_owned()));
    found.retain(|host| host.namespace().as_deref() == Some(namespace));
    found.pop().filter(|_| found.is_empty())
}

/// The address of a virtual machine, from the status of its Machine.
fn machine_address(machine: &Machine) -> Option<String> {
    let addresses = &machine.status.as_ref()?.addresses;
    addresses.first().map(|address| address.address.clone())
}
