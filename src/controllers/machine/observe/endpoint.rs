//! Where the API of a Cluster is served.

use std::sync::Arc;

use kube::ResourceExt;

use crate::api::readable::unreadable;
use crate::api::{ClusterProviderSpec, Host, Machine};
use crate::core::Key;
use crate::core::kubeadm::Endpoint;
use crate::providers::ssh::target::node_address;
use crate::store::Stores;

/// The endpoint that the Cluster names; without one, the address of its first control-plane machine.
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
