//! Addresses of machines, by MAC address: the host name of a first lease is the image's, so it
//! identifies nothing.
//!
//! Leases are read from the status files of libvirt's networks, as libvirt's NSS module does, and
//! not with `virDomainInterfaceAddresses`: the binding leaks what that call returns, and polls call
//! it every second.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use virt::connect::Connect;

use super::Result;
use super::domain_xml::{DomainView, InterfaceView};
use super::domains;
use super::error::Doing;
use crate::api::types::{Address, AddressSource};

/// Timeout of a guest agent's answer, in seconds.
const AGENT_PATIENCE: i32 = 2;
/// Limit of addresses per network interface: a guest can claim any number through its agent, ARP or
/// leases.
pub const MOST_PER_CARD: usize = 16;

/// Addresses by MAC address (lower case).
pub type ByMac = BTreeMap<String, Vec<String>>;

/// A lease, as written by `libvirt_leaseshelper`.
#[derive(Deserialize)]
struct Lease {
    #[serde(rename = "ip-address")]
    address: Option<String>,
    #[serde(rename = "mac-address")]
    mac: Option<String>,
    #[serde(rename = "expiry-time")]
    expiry: Option<i64>,
}

/// The unexpired leases of all networks.
pub fn leases(folder: &Path, now: Timestamp) -> ByMac {
    let mut found = ByMac::new();
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.filter(|file| file.path().extension().is_some_and(|end| end == "status")) {
        match fs::read_to_string(file.path()) {
            Ok(text) => parse_leases(&text, now, &mut found),
            Err(error) => {
                tracing::debug!(file = %file.path().display(), %error, "failed to read a lease file");
            }
        }
    }
    found
}

/// Parses the leases of a network. An interface may have several; the newest is first.
pub fn parse_leases(text: &str, now: Timestamp, found: &mut ByMac) {
    let mut leases: Vec<Lease> = serde_json::from_str(text).unwrap_or_default();
    leases.sort_by_key(|lease| std::cmp::Reverse(lease.expiry));
    for lease in leases {
        let valid = lease
            .expiry
            .is_none_or(|end| end == 0 || end > now.as_second());
        if let (true, Some(mac), Some(address)) = (valid, lease.mac, lease.address) {
            found.entry(mac.to_lowercase()).or_default().push(address);
        }
    }
}

/// The hypervisor's ARP table.
pub fn arp() -> ByMac {
    let mut found = ByMac::new();
    parse_arp(
        &fs::read_to_string("/proc/net/arp").unwrap_or_default(),
        &mut found,
    );
    found
}

/// Parses `/proc/net/arp`: address, hardware type, flags, MAC, mask, device. Only entries with flag
/// 2 (`ATF_COM`, complete) count.
pub fn parse_arp(text: &str, found: &mut ByMac) {
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let (address, flags, mac) = (words.next(), words.nth(1), words.next());
        let complete = flags.and_then(|flags| flags.strip_prefix("0x"));
        let complete = complete.and_then(|flags| u32::from_str_radix(flags, 16).ok());
        if let (Some(address), Some(mac)) = (address, mac)
            && complete.is_some_and(|flags| flags & 2 != 0)
        {
            found
                .entry(mac.to_lowercase())
                .or_default()
                .push(address.to_owned());
        }
    }
}

/// Addresses reported by the guest agent. Its answer is untrusted: only addresses of the machine's
/// own interfaces count, and only [`MOST_PER_CARD`] of each.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when the agent does not answer, or libvirt fails to look up
/// the domain.
pub fn agent(connect: &Connect, view: &DomainView) -> Result<ByMac> {
    let Some(domain) = domains::by_uuid(connect, view.uuid)? else {
        return Ok(ByMac::new());
    };
    let question = r#"{"execute":"guest-network-get-interfaces"}"#;
    let answer = domain
        .qemu_agent_command(question, AGENT_PATIENCE, 0)
        .doing("ask a machine's guest agent for its addresses")?;
    let mut found = parse_agent(&answer);
    found.retain(|mac, addresses| {
        addresses.retain(|address| usable(address).is_some());
        addresses.truncate(MOST_PER_CARD);
        view.interfaces.iter().any(|card| card.mac == *mac)
    });
    Ok(found)
}

/// Parses a guest agent's answer.
pub fn parse_agent(text: &str) -> ByMac {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(rename = "return")]
        cards: Vec<Card>,
    }
    #[derive(Deserialize)]
    struct Card {
        #[serde(rename = "hardware-address")]
        mac: Option<String>,
        #[serde(rename = "ip-addresses", default)]
        addresses: Vec<CardAddress>,
    }
    #[derive(Deserialize)]
    struct CardAddress {
        #[serde(rename = "ip-address")]
        address: String,
    }
    let cards = serde_json::from_str::<Answer>(text)
        .map(|answer| answer.cards)
        .unwrap_or_default();
    let mut found = ByMac::new();
    for card in cards {
        if let Some(mac) = card.mac {
            let addresses = card.addresses.into_iter().map(|address| address.address);
            found
                .entry(mac.to_lowercase())
                .or_default()
                .extend(addresses);
        }
    }
    found
}

/// The addresses of a machine, in the order of its interfaces. For each interface the most reliable
/// source is used: leases, else the ARP table, else the guest agent, which is queried only if an
/// interface needs it.
pub fn of_cards(
    view: &DomainView,
    leases: &ByMac,
    arp: &ByMac,
    agent: impl FnOnce() -> ByMac,
) -> Vec<Address> {
    let agent = LazyCell::new(agent);
    let of_card = |card: &InterfaceView| {
        let mut found = of_card(card, leases, AddressSource::Lease);
        if found.is_empty() {
            found = of_card(card, arp, AddressSource::Arp);
        }
        if found.is_empty() {
            found = of_card(card, &agent, AddressSource::Agent);
        }
        found
    };
    view.interfaces.iter().flat_map(of_card).collect()
}

/// The usable addresses of an interface in `known`.
fn of_card(card: &InterfaceView, known: &ByMac, source: AddressSource) -> Vec<Address> {
    let addresses = known.get(&card.mac).into_iter().flatten();
    let usable = addresses.filter_map(|address| usable(address));
    let address = |ip: IpAddr| Address {
        mac: card.mac.clone(),
        address: ip.to_string(),
        source,
    };
    usable.take(MOST_PER_CARD).map(address).collect()
}

/// Parses an address; `None` for an invalid one, and for a link-local, loopback or unspecified one:
/// it is unreachable.
fn usable(address: &str) -> Option<IpAddr> {
    let ip: IpAddr = address.parse().ok()?;
    let local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    (!local && !ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests;
