//! What a machine shall be.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The body of a create.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineRequest {
    /// What the machine shall be. It cannot change afterwards.
    pub spec: MachineSpec,
    /// What cloud-init reads at the first boot. It is no part of the spec and is never given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

/// What a machine shall be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Name of the libvirt domain: `[a-z0-9-]`, at most 63 characters.
    #[cfg_attr(feature = "gateway", schema(pattern = "^[a-z0-9-]{1,63}$"))]
    pub name: String,
    /// The caller's own words about the machine; kept and given back. At most 32, of at most 1024 bytes each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Virtual CPUs.
    #[cfg_attr(feature = "gateway", schema(minimum = 1, maximum = 512))]
    pub cpus: u32,
    /// Memory, in bytes; libvirt rounds it up to whole MiB. At least 1 MiB.
    #[cfg_attr(
        feature = "gateway",
        schema(minimum = 1_048_576, maximum = 17_592_186_044_416_u64)
    )]
    pub memory_bytes: u64,
    /// Firmware that boots the root disk.
    #[serde(default)]
    pub firmware: Firmware,
    /// Architecture, such as `x86_64`; the hypervisor's when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(pattern = "^[a-z0-9_]{1,32}$"))]
    pub architecture: Option<String>,
    /// The disk that the machine boots from.
    pub root_disk: RootDisk,
    /// Further disks, blank, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "gateway", schema(max_items = 16))]
    pub disks: Vec<DataDisk>,
    /// Network cards, in this order. Their MAC addresses follow from the machine's id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "gateway", schema(max_items = 16))]
    pub interfaces: Vec<InterfaceSpec>,
    /// CPU model as libvirt names it; the hypervisor's own CPU (KVM) or all that the emulator can do when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(pattern = "^[A-Za-z0-9_.-]{1,64}$"))]
    pub cpu_model: Option<String>,
}

/// Firmware of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Firmware {
    /// The PC's legacy firmware.
    #[default]
    Bios,
    /// UEFI, without secure boot.
    Uefi,
}

/// The disk that a machine boots from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RootDisk {
    /// Size, in bytes; not smaller than the image's.
    #[cfg_attr(
        feature = "gateway",
        schema(minimum = 1_048_576, maximum = 70_368_744_177_664_u64)
    )]
    pub size_bytes: u64,
    /// SHA-256 of the image that the disk starts as a copy of; it must be ready in the same pool. Blank without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(pattern = "^[0-9a-f]{64}$"))]
    pub image: Option<String>,
    /// Storage pool.
    #[serde(default = "crate::default_pool")]
    #[cfg_attr(feature = "gateway", schema(default = "default"))]
    pub pool: String,
}

/// A blank disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DataDisk {
    /// Name, unique in the machine; the guest sees it as the disk's serial number. `[a-z0-9-]`, at most 20 characters.
    #[cfg_attr(feature = "gateway", schema(pattern = "^[a-z0-9-]{1,20}$"))]
    pub name: String,
    /// Size, in bytes.
    #[cfg_attr(
        feature = "gateway",
        schema(minimum = 1_048_576, maximum = 70_368_744_177_664_u64)
    )]
    pub size_bytes: u64,
    /// Storage pool.
    #[serde(default = "crate::default_pool")]
    #[cfg_attr(feature = "gateway", schema(default = "default"))]
    pub pool: String,
}

/// A network card: exactly one of `network` and `bridge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct InterfaceSpec {
    /// Name of a libvirt network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Name of a bridge of the hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
}

/// What cloud-init reads at the first boot (`NoCloud`).
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Seed {
    /// `user-data`.
    #[serde(with = "in_the_clear")]
    #[cfg_attr(feature = "gateway", schema(value_type = String, write_only))]
    pub user_data: SecretString,
    /// `meta-data`; its `instance-id` is the caller's business.
    #[cfg_attr(feature = "gateway", schema(write_only))]
    pub meta_data: String,
    /// `network-config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(write_only))]
    pub network_config: Option<String>,
}

/// A secret in the body of a request: it goes through TLS, and nowhere else.
mod in_the_clear {
    use secrecy::{ExposeSecret, SecretString};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(secret: &SecretString, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose_secret())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
        String::deserialize(from).map(SecretString::from)
    }
}
