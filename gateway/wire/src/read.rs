//! What a client reads of answers that say more. It is less on purpose, and beside the whole of it:
//!
//! - a newer gateway may say more of a machine, and otherwise; a machine that cannot be read looks like one that may be
//!   anything, so nothing is read that is not looked at,
//! - an older gateway may not say all of it,
//! - what changes all the time, such as the free bytes of pools, is no news for who does not look at it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use crate::{Address, MachineState};

/// A virtual machine as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// UUID: the UID of our Machine.
    pub id: String,
    /// What it was made as.
    pub spec: CreatedMachine,
    /// What it does.
    pub state: MachineState,
    /// Why, where libvirt knows, such as `ioerror`.
    #[serde(default)]
    pub state_reason: Option<String>,
    /// The seed, with its keys, is still there: attached, or its volume is left.
    #[serde(default)]
    pub seed: bool,
    /// Its creation was cut in the middle: the same request finishes it.
    #[serde(default)]
    pub incomplete: bool,
    /// The gateway cannot read what it was made as: `spec` has its name, and no labels.
    #[serde(default)]
    pub unreadable: bool,
    /// Its network cards, in the order of the spec.
    #[serde(default)]
    pub interfaces: Vec<Card>,
    /// Its addresses, as far as they are known.
    #[serde(default)]
    pub addresses: Vec<Address>,
}

/// What a virtual machine was made as, as far as we look at it: a newer gateway may say more, and otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedMachine {
    /// Name of the domain.
    pub name: String,
    /// What we said of it; empty where the gateway cannot read it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

impl Machine {
    /// One of which nothing can be read but that it is there.
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

    /// The address that it is reached at: one of the first network card that has any, IPv4 before IPv6. What a DHCP
    /// server gave out goes before what was overheard (a virtual IP may be) and what the guest says of itself.
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

/// A network card.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// MAC address.
    pub mac: String,
}

/// What a hypervisor has, and has given away.
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
    /// Storage pools that are active, where it says so.
    #[serde(default)]
    pub pools: Option<Vec<Pool>>,
    /// libvirt networks that are active, where it says so.
    #[serde(default)]
    pub networks: Option<Vec<String>>,
    /// Bridges, without those of libvirt networks, where it says so.
    #[serde(default)]
    pub bridges: Option<Vec<String>>,
}

/// A storage pool. What is free in it changes all the time, and is the gateway's to look at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
}

/// How much there is of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// How much may be given away.
    pub limit: i64,
    /// How much is given away, to machines of others as well.
    pub allocated: i64,
}

impl Amount {
    /// How much may still be given away.
    pub fn free(&self) -> i64 {
        self.limit - self.allocated
    }
}

/// Why a request was refused (RFC 9457).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// One CamelCase word.
    pub code: String,
    /// For people: field, value and remedy.
    pub detail: String,
}
