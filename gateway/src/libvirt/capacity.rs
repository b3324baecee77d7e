//! Capacity of a hypervisor, and how much of it is allocated.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use virt::sys;

use super::domains::{self, Allocation};
use super::{Doing, Driver, Guest, Link, Result, pools};
use crate::api::types::{Acceleration, Amount, Capacity};

/// Limits of allocatable CPUs and memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Virtual CPUs per physical CPU.
    pub cpu_overcommit: f64,
    /// Allocatable bytes per byte of physical memory.
    pub memory_overcommit: f64,
    /// Bytes of memory reserved for the hypervisor.
    pub memory_reserve: u64,
}

/// Where sysfs lists network interfaces.
const INTERFACES: &str = "/sys/class/net";

/// CPUs and memory: total, allocatable, and allocated to all domains, including those that the
/// gateway does not manage.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to read the hypervisor's size.
pub fn amounts(link: &Link, limits: Limits, allocated: Allocation) -> Result<(Amount, Amount)> {
    let node = link
        .connect
        .node_info()
        .doing("read the hypervisor's size")?;
    let total_cpus = u64::from(node.cpus);
    let total_memory = node.memory.saturating_mul(1024);
    let memory_limit = scaled(total_memory, limits.memory_overcommit);
    Ok((
        Amount {
            total: total_cpus,
            limit: scaled(total_cpus, limits.cpu_overcommit),
            allocated: allocated.cpus,
        },
        Amount {
            total: total_memory,
            limit: memory_limit.saturating_sub(limits.memory_reserve),
            allocated: allocated.memory,
        },
    ))
}

/// The complete capacity of the hypervisor.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails; an object that cannot be read is
/// skipped.
pub fn read(link: &Link, limits: Limits) -> Result<Capacity> {
    let connect = &link.connect;
    let (cpus, memory_bytes) = amounts(link, limits, domains::allocated(link)?)?;
    let (networks, theirs) = networks(link)?;
    let guest = link.facts.guest(None);
    Ok(Capacity {
        hostname: connect.hostname().doing("read the host's name")?,
        uuid: link.facts.uuid,
        libvirt_version: version(connect.lib_version().doing("read libvirt's version")?),
        hypervisor: hypervisor(link),
        architecture: link.facts.architecture.clone(),
        acceleration: guest.map_or(Acceleration::None, Guest::acceleration),
        cpus,
        memory_bytes,
        pools: pools::capacities(link)?,
        networks,
        bridges: bridges(link, &theirs),
    })
}

/// Names of the active networks, and of their bridges.
///
/// # Errors
/// [`Error::Call`](super::Error::Call) when libvirt fails to list the networks or the connection is
/// lost.
pub fn networks(link: &Link) -> Result<(Vec<String>, BTreeSet<String>)> {
    let active = sys::VIR_CONNECT_LIST_NETWORKS_ACTIVE;
    let list = link
        .connect
        .list_all_networks(active)
        .doing("list the networks")?;
    let mut names = Vec::new();
    let mut bridges = BTreeSet::new();
    for network in list {
        let name = network.name().doing("read a network's name");
        names.extend(link.readable("a network", name)?);
        // networks on an existing bridge or device of the host have no bridge of their own
        if let Ok(bridge) = network.bridge_name() {
            bridges.insert(bridge);
        }
    }
    names.sort();
    Ok((names, bridges))
}

/// Names of the hypervisor's bridges, except those in `without`.
pub fn bridges(link: &Link, without: &BTreeSet<String>) -> Vec<String> {
    match link.facts.driver {
        // its networks do not exist on the host
        Driver::Test => Vec::new(),
        _ => bridges_in(Path::new(INTERFACES), without),
    }
}

/// Bridges are recognized by sysfs, not by their names or carrier: an internal bridge has no
/// carrier before its first guest starts.
fn bridges_in(folder: &Path, without: &BTreeSet<String>) -> Vec<String> {
    let interfaces = fs::read_dir(folder).into_iter().flatten().flatten();
    let bridges = interfaces.filter(|interface| interface.path().join("bridge").is_dir());
    let names = bridges.filter_map(|bridge| bridge.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !without.contains(name)).collect();
    names.sort();
    names
}

fn hypervisor(link: &Link) -> Option<String> {
    let version = self::version(link.connect.hyp_version().ok()?);
    match link.facts.driver {
        Driver::Qemu => Some(format!("QEMU {version}")),
        Driver::Test => Some(format!("Test {version}")),
        Driver::Other => Some(format!("{} {version}", link.connect.driver_type().ok()?)),
    }
}

/// Formats libvirt's version number: `major * 1000000 + minor * 1000 + release`.
fn version(number: u32) -> String {
    format!(
        "{}.{}.{}",
        number / 1_000_000,
        number / 1000 % 1000,
        number % 1000
    )
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn scaled(amount: u64, factor: f64) -> u64 {
    // exact in an f64: bytes of memory and numbers of CPUs are far below 2^53
    (amount as f64 * factor) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_are_what_the_kernel_calls_so_whatever_else_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        for interface in [
            "br1/bridge",
            "br0/bridge",
            "virbr0/bridge",
            "eth0.mac",
            "lo",
        ] {
            fs::create_dir_all(folder.path().join(interface)).expect("a folder");
        }
        fs::write(folder.path().join("bonding_masters"), "").expect("a file");
        let theirs = BTreeSet::from(["virbr0".to_owned()]);
        assert_eq!(bridges_in(folder.path(), &theirs), ["br0", "br1"]);
        assert!(bridges_in(Path::new("/nowhere"), &theirs).is_empty());
    }
}
