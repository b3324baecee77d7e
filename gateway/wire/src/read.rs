//! The parts of responses that a client reads. They are a subset on purpose:
//!
//! - a newer gateway may change fields that the client does not use, and one field that fails to parse makes the whole
//!   machine unreadable,
//! - an older gateway may omit fields,
//! - fields that change constantly, such as the free bytes of pools, would make every event a change.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use crate::{Address, MachineState};

/// A virtual machine and its state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// UUID; equals the UID of the Machine object.
    pub id: String,
    /// The spec that it was created with.
    pub spec: CreatedMachine,
    /// Power state.
    pub state: MachineState,
    /// Reason of the state if libvirt reports one, such as `ioerror`.
    #[serde(default)]
    pub state_reason: Option<String>,
    /// The seed, which contains keys, still exists: it is attached, or its volume is not deleted.
    #[serde(default)]
    pub seed: bool,
    /// Its creation was interrupted: the same request completes it.
    #[serde(default)]
    pub incomplete: bool,
    /// The gateway cannot parse its metadata: `spec` has its name, and no labels.
    #[serde(default)]
    pub unreadable: bool,
    /// Network interfaces, in the order of the spec.
    #[serde(default)]
    pub interfaces: Vec<Card>,
    /// Known addresses.
    #[serde(default)]
    pub addresses: Vec<Address>,
}

/// The fields of a virtual machine's spec that the client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedMachine {
    /// Name of the domain.
    pub name: String,
    /// Labels set by the client; empty if the gateway cannot parse them.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

impl Machine {
    /// A machine that exists and of which only the id is known.
    pub fn unreadable(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            spec: CreatedMachine {
                name: id.to_owned(),
                ..CreatedMachine::default()
            },
            state: MachineState::Unknown,
            state_reason: None,
            seed: false,
            incomplete: false,
            unreadable: true,
            interfaces: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// The primary address: of the first network interface that has one, IPv4 before IPv6. A DHCP
    /// lease precedes the ARP table, which may contain virtual IPs, and the guest agent.
    pub fn address(&self) -> Option<&str> {
        let mut cards = self.interfaces.iter();
        cards.find_map(|card| self.address_of(card))
    }

    fn address_of(&self, card: &Card) -> Option<&str> {
        let of_card = self
            .addresses
            .iter()
            .filter(|found| found.mac.eq_ignore_ascii_case(&card.mac));
        let usable = of_card.filter_map(|found| {
            let address: IpAddr = found.address.parse().ok()?;
            let is_local = match address {
                IpAddr::V4(address) => address.is_link_local() || address.is_loopback(),
                IpAddr::V6(address) => address.is_unicast_link_local() || address.is_loopback(),
            };
            (!is_local).then_some((found.source, address.is_ipv6(), found.address.as_str()))
        });
        usable.min().map(|(_, _, address)| address)
    }
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// MAC address.
    pub mac: String,
}

/// Capacity of a hypervisor, and how much of it is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// `kvm` or `none`.
    #[serde(default)]
    pub acceleration: String,
    /// Virtual processors.
    pub cpus: Amount,
    /// Memory, in bytes.
    pub memory_bytes: Amount,
    /// Active storage pools, if the gateway lists them.
    #[serde(default)]
    pub pools: Option<Vec<Pool>>,
    /// Active libvirt networks, if the gateway lists them.
    #[serde(default)]
    pub networks: Option<Vec<String>>,
    /// Bridges, without those of libvirt networks, if the gateway lists them.
    #[serde(default)]
    pub bridges: Option<Vec<String>>,
}

/// A storage pool. Its free space is left out: it changes constantly, and the gateway checks it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
}

/// Allocatable and allocated amount of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// Allocatable amount.
    pub limit: i64,
    /// Allocated amount, including domains of others.
    pub allocated: i64,
}

impl Amount {
    /// Amount that is still allocatable.
    pub fn free(&self) -> i64 {
        self.limit - self.allocated
    }
}

/// Problem details of a failed request (RFC 9457).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// Machine-readable code in CamelCase.
    pub code: String,
    /// Human-readable: field, value and remedy.
    pub detail: String,
}
