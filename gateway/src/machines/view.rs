//! Reading of machines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;
use virt::domain::Domain;

use super::{Error, Result};
use crate::api::types::{
    Address, Firmware, InterfaceSpec, Machine, MachineInterface, MachineSpec, MachineState,
    RootDisk,
};
use crate::app::App;
use crate::clock;
use crate::libvirt::addresses::{self, ByMac};
use crate::libvirt::domain_xml::{DomainView, InterfaceView};
use crate::libvirt::domains::{self, DomainStatus};
use crate::libvirt::{self, Driver, Link, volumes};

/// How long a guest agent's answer is cached.
const AGENT_ANSWER: Duration = Duration::from_secs(10);
/// Back-off after an agent did not answer, so that guests that hang do not use up the budget of the
/// others.
const AGENT_REST: Duration = Duration::from_secs(30);
/// Total time that one list of machines may wait for guest agents.
const AGENT_BUDGET: Duration = Duration::from_secs(2);

/// Cached answers of guest agents: queries are slow, and a guest that hangs never answers.
#[derive(Default)]
pub struct Agents(Mutex<HashMap<Uuid, Answer>>);

/// Time of the next query, and the cached answer of a guest agent.
type Answer = (Instant, ByMac);

/// Data read once for all machines: their seeds, and the addresses in DHCP leases and ARP table.
struct Lookups {
    seeds: BTreeSet<Uuid>,
    leases: ByMac,
    arp: ByMac,
    since: Instant,
}

/// All machines, ordered by id, without domains that the gateway does not manage.
///
/// # Errors
/// [`Error::Libvirt`] when libvirt fails to list the domains or the pools; one that cannot be read
/// is not an error.
pub fn list(app: &App, link: &Link) -> Result<Vec<Machine>> {
    let known = Lookups::look(app, link)?;
    let all = domains::all(link)?;
    let machines = all.into_iter();
    let machines = machines.filter_map(|seen| machine(app, link, &known, seen));
    let mut machines: Vec<_> = machines.collect();
    machines.sort_by_key(|machine| machine.id);
    app.agents.keep(|id| {
        machines
            .binary_search_by_key(&id, |machine| machine.id)
            .is_ok()
    });
    Ok(machines)
}

/// One machine.
///
/// # Errors
/// [`Error::Unknown`] when the machine does not exist, [`Error::Libvirt`] when libvirt fails.
pub fn one(app: &App, link: &Link, id: Uuid) -> Result<Machine> {
    let (_, seen) = lookup(link, id)?;
    let known = Lookups::look(app, link)?;
    machine(app, link, &known, seen).ok_or(Error::Unknown { id })
}

/// The domain of a machine. A domain that the gateway does not manage is treated as missing.
///
/// # Errors
/// [`Error::Unknown`] when the machine does not exist, [`Error::Libvirt`] when libvirt fails.
pub(super) fn lookup(link: &Link, id: Uuid) -> Result<(Domain, DomainStatus)> {
    let Some(domain) = domains::by_uuid(&link.connect, id)? else {
        return Err(Error::Unknown { id });
    };
    match libvirt::found(domains::see(&domain))? {
        Some(seen) if seen.view.ours.is_some() => Ok((domain, seen)),
        _ => Err(Error::Unknown { id }),
    }
}

/// Path and device name of a machine's seed, if it is attached.
pub(super) fn seed_of(view: &DomainView) -> Option<(&str, &str)> {
    let name = volumes::seed_name(view.uuid);
    let seed = view
        .disks
        .iter()
        .find(|(path, _)| path.rsplit('/').next() == Some(&name))?;
    Some((&seed.0, &seed.1))
}

fn machine(app: &App, link: &Link, known: &Lookups, seen: DomainStatus) -> Option<Machine> {
    seen.view.ours.as_ref()?;
    let addresses = addresses_of(app, link, known, &seen);
    // after a slow guest has released the seed, its volume still has to be deleted
    let has_seed = known.seeds.contains(&seen.view.uuid) || seed_of(&seen.view).is_some();
    machine_of(seen, addresses, has_seed)
}

/// The machine of a domain; `None` if the gateway does not manage it. If its metadata cannot be
/// parsed (written by a newer gateway or by hand), the domain XML provides the spec: hiding the
/// machine could hide a live node.
fn machine_of(seen: DomainStatus, addresses: Vec<Address>, has_seed: bool) -> Option<Machine> {
    let told = spec_of(&seen.view);
    let ours = seen.view.ours?;
    let cards = seen
        .view
        .interfaces
        .into_iter()
        .map(|card| MachineInterface {
            mac: card.mac,
            network: card.network,
            bridge: card.bridge,
        });
    Some(Machine {
        id: seen.view.uuid,
        spec_hash: ours.hash,
        unreadable: ours.spec.is_none(),
        spec: ours.spec.unwrap_or(told),
        state: seen.state,
        state_reason: seen.reason,
        seed: has_seed,
        incomplete: ours.creating,
        addresses,
        interfaces: cards.collect(),
    })
}

/// A spec reconstructed from the domain XML.
fn spec_of(view: &DomainView) -> MachineSpec {
    let card = |card: &InterfaceView| InterfaceSpec {
        network: card.network.clone(),
        bridge: card.bridge.clone(),
    };
    MachineSpec {
        name: view.name.clone(),
        labels: BTreeMap::new(),
        cpus: u32::try_from(view.cpus).unwrap_or(u32::MAX),
        memory_bytes: view.memory_bytes,
        firmware: Firmware::default(),
        architecture: None,
        root_disk: RootDisk {
            size_bytes: 0,
            image: None,
            pool: String::new(),
        },
        disks: Vec::new(),
        interfaces: view.interfaces.iter().map(card).collect(),
        cpu_model: None,
    }
}

/// Addresses of each network interface from leases or ARP, or from the guest agent if those have
/// none.
fn addresses_of(app: &App, link: &Link, known: &Lookups, seen: &DomainStatus) -> Vec<Address> {
    let view = &seen.view;
    if matches!(seen.state, MachineState::Off | MachineState::Crashed) {
        return Vec::new();
    }
    let agent = || {
        if view.agent {
            app.agents.ask(link, view, known.since)
        } else {
            ByMac::new()
        }
    };
    addresses::of_cards(view, &known.leases, &known.arp, agent)
}

impl Lookups {
    fn look(app: &App, link: &Link) -> Result<Self> {
        let since = clock::instant();
        let seeds = volumes::seeds(link)?;
        // the test driver's networks do not exist on the host
        if link.facts.driver == Driver::Test {
            return Ok(Self {
                seeds,
                leases: ByMac::new(),
                arp: ByMac::new(),
                since,
            });
        }
        Ok(Self {
            seeds,
            leases: addresses::leases(&app.lease_directory, clock::now()),
            arp: addresses::arp(),
            since,
        })
    }
}

impl Agents {
    /// The answer of a machine's agent, queried or cached. A list whose budget is used up only
    /// reads the cache.
    fn ask(&self, link: &Link, view: &DomainView, since: Instant) -> ByMac {
        let now = clock::instant();
        let old = self.slot().get(&view.uuid).cloned();
        let (until, answer) = old.unwrap_or((now, ByMac::new()));
        if now < until || now.duration_since(since) > AGENT_BUDGET {
            return answer;
        }
        let (rest, answer) = match addresses::agent(&link.connect, view) {
            Ok(answer) => (AGENT_ANSWER, answer),
            Err(error) => {
                tracing::debug!(id = %view.uuid, error = error.words(), "failed to query a guest agent");
                (AGENT_REST, ByMac::new())
            }
        };
        let until = clock::instant() + rest;
        self.slot().insert(view.uuid, (until, answer.clone()));
        answer
    }

    /// Drops the answers of deleted machines.
    fn keep(&self, mut still: impl FnMut(Uuid) -> bool) {
        self.slot().retain(|id, _| still(*id));
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, (Instant, ByMac)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
