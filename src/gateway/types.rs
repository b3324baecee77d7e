//! What is said to a gateway, and what it answers. Its description is at `/openapi.json`; fields that we do
//! not read are left out, and unknown ones are no error: a gateway may be newer than we are.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A virtual machine that is to be made. What is at its default is left out: a gateway refuses fields that it does not
/// know, and may be older than we are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Name of the domain.
    pub name: String,
    /// Kept with the domain, for people and for us.
    pub labels: BTreeMap<String, String>,
    /// Virtual processors.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory_bytes: i64,
    /// `bios` or `uefi`.
    pub firmware: String,
    /// The disk with the operating system.
    pub root_disk: RootDisk,
    /// Further disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<Disk>,
    /// Network interfaces, in order.
    pub interfaces: Vec<Interface>,
}

/// The disk with the operating system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RootDisk {
    /// Size, in bytes.
    pub size_bytes: i64,
    /// SHA-256 of the image that it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Storage pool.
    pub pool: String,
}

/// A further disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Name, unique in the machine.
    pub name: String,
    /// Size, in bytes.
    pub size_bytes: i64,
    /// Storage pool.
    pub pool: String,
}

/// To what an interface is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Interface {
    /// A libvirt network.
    Network(String),
    /// A bridge of the hypervisor.
    Bridge(String),
}

/// What cloud-init reads at the first boot (`NoCloud`). It holds keys: never printed.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Seed {
    /// `user-data`.
    pub user_data: String,
    /// `meta-data`.
    pub meta_data: String,
}

/// The body of a request for a virtual machine.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMachine {
    /// What it is to be.
    pub spec: MachineSpec,
    /// What its operating system finds at the first boot.
    pub seed: Seed,
}

/// A virtual machine as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// UUID: the UID of our Machine.
    pub id: String,
    /// What it was made as.
    pub spec: Made,
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
pub struct Made {
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
            spec: Made {
                name: id.to_owned(),
                ..Made::default()
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

/// What a virtual machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MachineState {
    /// It runs.
    Running,
    /// Its processors stand still.
    Paused,
    /// It is off.
    Off,
    /// Its emulator died.
    Crashed,
    /// It is on its way off.
    ShuttingDown,
    /// Anything else.
    #[serde(other)]
    Unknown,
}

/// An address of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// MAC address of its network card.
    pub mac: String,
    /// IP address.
    pub address: String,
    /// Who says so.
    pub source: AddressSource,
}

/// Who knows of an address; who is to be believed first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AddressSource {
    /// A DHCP server of libvirt.
    Lease,
    /// The hypervisor's ARP table.
    Arp,
    /// The guest itself, by its agent.
    Agent,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Where an image is to be had.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchImage {
    /// http or https URL.
    pub url: String,
    /// `qcow2` or `raw`.
    pub format: String,
    /// Storage pool that it is kept in.
    pub pool: String,
}

/// An image as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Storage pool that it is kept in.
    pub pool: String,
    /// Whether it can be used.
    pub state: ImageState,
    /// How much of it is here.
    #[serde(default)]
    pub received_bytes: u64,
    /// How much there is, where its server says.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<ImageError>,
}

/// Whether an image can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageState {
    /// It is on its way.
    Fetching,
    /// It is whole, and was checked.
    Ready,
    /// It could not be had.
    Failed,
    /// Anything else: it cannot be used yet.
    #[serde(other)]
    Other,
}

/// Why an image could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageError {
    /// One CamelCase word.
    pub code: String,
    /// For people.
    pub detail: String,
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
