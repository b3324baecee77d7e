//! Whether the gateway of a Hypervisor has answered, and since when it has not.

use super::Libvirt;
use tatara_core::hypervisor::Connectivity;
use tatara_core::machine::Observed;

/// Whether the gateway has not answered yet since the manager started.
pub(super) fn is_connecting(libvirt: &Libvirt, namespace: &str, hypervisor: &str) -> bool {
    let connection = libvirt.gateways.get(namespace, hypervisor);
    connection.is_some_and(|one| one.view().connectivity == Connectivity::Connecting)
}

/// Since when nothing is known of the gateway.
pub(super) fn silent_since(
    libvirt: &Libvirt,
    observed: &Observed,
    hypervisor: &str,
) -> k8s_openapi::jiff::Timestamp {
    let namespace = &observed.marker.namespace;
    match libvirt.gateways.get(namespace, hypervisor) {
        Some(connection) => match connection.view().connectivity {
            Connectivity::Disconnected { since, .. } => since,
            Connectivity::Connecting | Connectivity::Connected => crate::clock::now(),
        },
        None => libvirt.gateways.missed_since(namespace, hypervisor),
    }
}
