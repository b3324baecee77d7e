//! Desired state of a machine.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The body of a create.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineRequest {
    /// Desired state of the machine; immutable.
    pub spec: MachineSpec,
    /// cloud-init data for the first boot. It is not part of the spec, and never returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

/// Desired state of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Name of the libvirt domain: `[a-z0-9-]`, at most 63 characters.
    #[cfg_attr(feature = "gateway", schema(pattern = "^[a-z0-9-]{1,63}$"))]
    pub name: String,
    /// Labels of the caller, stored and returned unchanged. At most 32; keys and values have at
    /// most 1024 bytes each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Virtual CPUs.
    #[cfg_attr(feature = "gateway", schema(minimum = 1, maximum = 512))]
    pub cpus: u32,
    /// Memory, in bytes; rounded up to whole MiB. At least 1 MiB.
    #[cfg_attr(
        feature = "gateway",
        schema(minimum = 1_048_576, maximum = 17_592_186_044_416_u64)
    )]
    pub memory_bytes: u64,
    /// Firmware that boots the root disk.
    #[serde(default)]
    pub firmware: Firmware,
    /// Architecture, such as `x86_64`; defaults to the hypervisor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(pattern = "^[a-z0-9_]{1,32}$"))]
    pub architecture: Option<String>,
    /// The disk that the machine boots from.
    pub root_disk: RootDisk,
    /// Additional blank disks, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "gateway", schema(max_items = 16))]
    pub disks: Vec<DataDisk>,
    /// Network interfaces, in this order. Their MAC addresses are derived from the machine's id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "gateway", schema(max_items = 16))]
    pub interfaces: Vec<InterfaceSpec>,
    /// CPU model as named by libvirt; defaults to `host-passthrough` with KVM, and to `maximum`
    /// with emulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(pattern = "^[A-Za-z0-9_.-]{1,64}$"))]
    pub cpu_model: Option<String>,
}

/// Firmware of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Firmware {
    /// Legacy PC BIOS.
    #[default]
    Bios,
    /// UEFI without secure boot.
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
    /// SHA-256 of the image that the disk is based on, ready in the same pool. If omitted, the disk
    /// is blank.
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
    /// Name, unique in the machine, and the disk's serial number in the guest. `[a-z0-9-]`, at most
    /// 20 characters.
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

/// A network interface: exactly one of `network` and `bridge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct InterfaceSpec {
    /// Name of a libvirt network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Name of a bridge on the hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
}

/// cloud-init data for the first boot (data source `NoCloud`).
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Seed {
    /// `user-data`.
    #[serde(with = "in_the_clear")]
    #[cfg_attr(feature = "gateway", schema(value_type = String, write_only))]
    pub user_data: SecretString,
    /// `meta-data`; the caller sets its `instance-id`.
    #[cfg_attr(feature = "gateway", schema(write_only))]
    pub meta_data: String,
    /// `network-config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "gateway", schema(write_only))]
    pub network_config: Option<String>,
}

/// Serializes a secret as plain text, for request bodies only.
mod in_the_clear {
    use secrecy::{ExposeSecret, SecretString};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Serializes the exposed secret.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(secret: &SecretString, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose_secret())
    }

    /// Deserializes a string into a secret.
    ///
    /// # Errors
    /// Those of the deserializer, when the value is not a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
        String::deserialize(from).map(SecretString::from)
    }
}
