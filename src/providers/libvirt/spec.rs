//! Requests to a gateway, from a Machine's spec. Pure.

use std::collections::BTreeMap;

use tatara_core::api::libvirt_machine_provider_spec::{Firmware, ImageFormat, Interface};
use tatara_core::api::{LibvirtMachineProviderSpec, quantity};
use tatara_core::hypervisor::live::LABEL_MANAGEMENT;
use tatara_core::node::Marker;
use tatara_core::wire;

/// Longest name of a domain, which is also the name of its Node: a DNS label.
const LONGEST: usize = 63;

/// Name of a Machine's virtual machine and Node: the Machine's name with a prefix of its UID.
/// Machines of two namespaces, or successive Machines of one name, therefore never share a name.
pub fn domain_name(marker: &Marker) -> String {
    let uid: String = marker
        .uid
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(8)
        .collect();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = marker
        .machine
        .chars()
        .map(plain)
        .take(LONGEST - 1 - uid.len())
        .collect();
    format!("{}-{uid}", name.trim_end_matches('-'))
}

/// The create request for a Machine.
pub fn machine_spec(marker: &Marker, spec: &LibvirtMachineProviderSpec) -> wire::MachineSpec {
    // admission rejects invalid sizes, and a gateway would, too
    let bytes = |size| {
        quantity::bytes(size)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or_default()
    };
    let labels = [
        (LABEL_MANAGEMENT, &marker.management),
        ("namespace", &marker.namespace),
        ("cluster", &marker.cluster),
        ("machine", &marker.machine),
    ];
    wire::MachineSpec {
        name: domain_name(marker),
        labels: labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect::<BTreeMap<_, _>>(),
        cpus: spec.cpus,
        memory_bytes: bytes(&spec.memory),
        firmware: match spec.firmware {
            Firmware::Bios => wire::Firmware::Bios,
            Firmware::Uefi => wire::Firmware::Uefi,
        },
        architecture: None,
        root_disk: wire::RootDisk {
            size_bytes: bytes(&spec.root_disk.size),
            image: Some(spec.root_disk.image.sha256.clone()),
            pool: spec.root_disk.pool.clone(),
        },
        disks: spec
            .disks
            .iter()
            .map(|disk| wire::DataDisk {
                name: disk.name.clone(),
                size_bytes: bytes(&disk.size),
                pool: disk.pool.clone(),
            })
            .collect(),
        interfaces: spec
            .interfaces()
            .into_iter()
            .map(|interface| match interface {
                Interface::Network(name) => wire::InterfaceSpec {
                    network: Some(name),
                    bridge: None,
                },
                Interface::Bridge(name) => wire::InterfaceSpec {
                    network: None,
                    bridge: Some(name),
                },
            })
            .collect(),
        cpu_model: None,
    }
}

/// The image download request for a Machine.
pub fn fetch(spec: &LibvirtMachineProviderSpec) -> wire::ImageRequest {
    let image = &spec.root_disk.image;
    wire::ImageRequest {
        url: image.url.clone(),
        format: match image.format {
            ImageFormat::Qcow2 => wire::ImageFormat::Qcow2,
            ImageFormat::Raw => wire::ImageFormat::Raw,
        },
        pool: spec.root_disk.pool.clone(),
    }
}
