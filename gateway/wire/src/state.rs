//! Enums in responses. A value that a newer gateway adds is read as "other" or "unknown"; "other"
//! is never written.

use serde::{Deserialize, Serialize};

/// Power state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum MachineState {
    /// It is running.
    Running,
    /// It is paused; `stateReason` has the cause.
    Paused,
    /// It is off.
    Off,
    /// It crashed.
    Crashed,
    /// It is shutting down.
    ShuttingDown,
    /// libvirt reports no known state.
    #[serde(other)]
    Unknown,
}

/// An address of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// MAC address of the network interface.
    pub mac: String,
    /// IPv4 or IPv6, without prefix length.
    pub address: String,
    /// Where the address was discovered.
    pub source: AddressSource,
}

// the order is the precedence: the most trustworthy source first
/// Where an address was discovered.
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
    /// A source that only a newer gateway has.
    #[serde(other, skip_serializing)]
    Other,
}
