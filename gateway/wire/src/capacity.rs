//! Capacity of a hypervisor, as returned by a gateway.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Capacity of a hypervisor, and how much of it is allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Host name, as reported by libvirt.
    pub hostname: String,
    /// UUID of the host, as reported by libvirt.
    pub uuid: Uuid,
    /// Version of libvirt, such as `9.0.0`.
    pub libvirt_version: String,
    /// Name and version of the hypervisor, such as `QEMU 7.2.22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Default architecture of machines.
    pub architecture: String,
    /// Whether machines use hardware virtualization.
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

/// How machines are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acceleration {
    /// Hardware virtualization with KVM.
    Kvm,
    /// Software emulation.
    None,
}

/// Total and allocated amount of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// Physical amount.
    pub total: u64,
    /// Allocatable amount, with overcommit and reserve.
    pub limit: u64,
    /// Sum over all defined domains, including those that are off and those that the gateway does
    /// not manage.
    pub allocated: u64,
}

impl Amount {
    /// Amount that is still allocatable.
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
    /// Bytes that are free now. Disks are thin-provisioned: their sizes are not reserved.
    pub available_bytes: u64,
}
