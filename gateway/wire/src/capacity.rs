//! What a hypervisor has, as a gateway answers it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What a hypervisor has, and how much of it is given out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Host name, as libvirt says.
    pub hostname: String,
    /// UUID of the host, as libvirt says.
    pub uuid: Uuid,
    /// Version of libvirt, such as `9.0.0`.
    pub libvirt_version: String,
    /// Name and version of the hypervisor, such as `QEMU 7.2.22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Architecture of machines that name none.
    pub architecture: String,
    /// Whether machines run on the processor itself.
    pub acceleration: Acceleration,
    /// Virtual CPUs.
    pub cpus: Amount,
    /// Memory, in bytes.
    pub memory_bytes: Amount,
    /// Storage pools that are active.
    pub pools: Vec<PoolCapacity>,
    /// libvirt networks that are active.
    pub networks: Vec<String>,
    /// Bridges of the hypervisor, without those of libvirt networks.
    pub bridges: Vec<String>,
}

/// How machines are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acceleration {
    /// By KVM.
    Kvm,
    /// By emulation.
    None,
}

/// An amount of something that is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// What there is.
    pub total: u64,
    /// What may be given out.
    pub limit: u64,
    /// What all defined domains have together, also those that are off, and those that are not ours.
    pub allocated: u64,
}

impl Amount {
    /// What may still be given out.
    pub fn free(self) -> u64 {
        self.limit.saturating_sub(self.allocated)
    }
}

/// A storage pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolCapacity {
    /// Name.
    pub name: String,
    /// Size, in bytes.
    pub capacity_bytes: u64,
    /// Bytes that are free now. Disks grow into them: their sizes are not set aside.
    pub available_bytes: u64,
}
