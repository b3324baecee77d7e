//! The object in the `providerSpec.value` of a Machine that is a virtual machine.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine_provider_spec::NodeSettings;

/// A virtual machine that Tatara creates on a Hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LibvirtMachineProviderSpec {
    /// Labels of the Hypervisors on which it may be created. Empty matches any.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::label_selector")]
    pub hypervisor_selector: LabelSelector,
    /// Only Hypervisors of this failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Virtual processors.
    pub cpus: u32,
    /// Memory, such as `4Gi`.
    pub memory: Quantity,
    /// Firmware with which it boots.
    #[serde(default)]
    pub firmware: Firmware,
    /// Disk with the operating system.
    pub root_disk: RootDisk,
    /// Further disks, empty at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<Disk>,
    /// Its network interfaces, the one that the node is reached by first; the network `default` when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Public keys that may log in as user `tatara` beside Tatara's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_authorized_keys: Vec<String>,
    /// How the node is prepared.
    #[serde(default)]
    pub node: NodeSettings,
}

/// Firmware with which a virtual machine boots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Firmware {
    /// `SeaBIOS`.
    #[default]
    Bios,
    /// OVMF, without Secure Boot.
    Uefi,
}

/// The disk that the operating system is on: a copy of an image that grows as it is written to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RootDisk {
    /// Size, such as `20Gi`; not below the image's.
    pub size: Quantity,
    /// Image of which it is a copy.
    pub image: Image,
    /// Storage pool of the hypervisor.
    #[serde(default = "default_name")]
    pub pool: String,
}

/// An image, downloaded once per storage pool of a hypervisor and verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// URL from which the hypervisor downloads it: http or https.
    pub url: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Format of the file.
    #[serde(default)]
    pub format: ImageFormat,
}

/// Format of an image file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// QEMU's copy-on-write format.
    #[default]
    Qcow2,
    /// The bytes of the disk, without a format.
    Raw,
}

/// A further disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// Name, unique in the machine: lower-case letters, digits and dashes.
    pub name: String,
    /// Size, such as `100Gi`.
    pub size: Quantity,
    /// Storage pool of the hypervisor.
    #[serde(default = "default_name")]
    pub pool: String,
}

/// A network interface: to a libvirt network, or to a bridge of the hypervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Interface {
    /// Name of a libvirt network.
    Network(String),
    /// Name of a bridge.
    Bridge(String),
}

impl LibvirtMachineProviderSpec {
    /// Its interfaces; one to the network `default` where none is named.
    pub fn interfaces(&self) -> Vec<Interface> {
        if self.interfaces.is_empty() {
            vec![Interface::Network(default_name())]
        } else {
            self.interfaces.clone()
        }
    }

    /// The first invalid value, as a message with field, value and remedy.
    pub fn problem(&self) -> Option<String> {
        let bytes = super::quantity::bytes;
        if self.cpus == 0 || self.cpus > 512 {
            return Some(format!(
                "cpus is {}; write a number from 1 to 512",
                self.cpus
            ));
        }
        if bytes(&self.memory).is_none_or(|memory| memory < 128 << 20) {
            return Some(format!(
                "memory is {:?}; write an amount from 128Mi on, such as 4Gi",
                self.memory.0
            ));
        }
        let mut sizes = vec![("rootDisk.size".to_owned(), &self.root_disk.size)];
        sizes.extend(
            self.disks
                .iter()
                .map(|disk| (format!("disks[{}].size", disk.name), &disk.size)),
        );
        if let Some((field, size)) = sizes
            .iter()
            .find(|(_, size)| bytes(size).is_none_or(|size| size <= 0))
        {
            return Some(format!(
                "{field} is {:?}; write an amount such as 20Gi",
                size.0
            ));
        }
        let image = &self.root_disk.image;
        if !(image.url.starts_with("http://") || image.url.starts_with("https://")) {
            return Some(format!(
                "rootDisk.image.url is {:?}; write an http or https URL that the hypervisor can reach",
                image.url
            ));
        }
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if image.sha256.len() != 64 || !image.sha256.chars().all(is_hex) {
            return Some(format!(
                "rootDisk.image.sha256 is {:?}; write the 64 lower-case hexadecimal digits that sha256sum prints",
                image.sha256
            ));
        }
        self.disk_name_problem()
    }

    fn disk_name_problem(&self) -> Option<String> {
        let mut seen = std::collections::BTreeSet::new();
        self.disks.iter().find_map(|disk| {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if disk.name.is_empty() || disk.name.len() > 20 || !disk.name.chars().all(fits) {
                return Some(format!(
                    "disks[].name is {:?}; write at most 20 lower-case letters, digits and dashes",
                    disk.name
                ));
            }
            let is_taken =
                matches!(disk.name.as_str(), "root" | "seed") || !seen.insert(&disk.name);
            is_taken.then(|| {
                format!(
                    "disks[].name {:?} is used twice; name each disk once, and none root or seed",
                    disk.name
                )
            })
        })
    }
}

fn default_name() -> String {
    "default".into()
}
