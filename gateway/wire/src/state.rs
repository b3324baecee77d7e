//! Words in answers. A gateway writes those of its description; one that a newer gateway adds is read as "other", which
//! is never written.

use serde::{Deserialize, Serialize};

/// What a machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum MachineState {
    /// It runs.
    Running,
    /// It is held; `stateReason` says why.
    Paused,
    /// It is off.
    Off,
    /// It crashed.
    Crashed,
    /// It is shutting down.
    ShuttingDown,
    /// libvirt does not say.
    #[serde(other)]
    Unknown,
}

/// An address of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The network card's.
    pub mac: String,
    /// IPv4 or IPv6, without prefix length.
    pub address: String,
    /// Who says so.
    pub source: AddressSource,
}

// who is to be believed first comes first
/// Where an address was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AddressSource {
    /// A DHCP lease of a libvirt network.
    Lease,
    /// The hypervisor's ARP table.
    Arp,
    /// The guest agent.
    Agent,
    /// Somebody that a newer gateway asks.
    #[serde(other, skip_serializing)]
    Other,
}
