//! On which Hypervisor a Machine's virtual machine is made. Pure; the choice is written down by
//! compare-and-swap before anything is made, and the gateway refuses what does not fit after all.

use crate::Why;
use crate::api::conditions::Reason;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};

use super::claim::preference;
use super::failure_domain_spread::Crowd;
use crate::api::libvirt_machine_provider_spec::Interface;
use crate::api::{LibvirtMachineProviderSpec, quantity};
use crate::wire::Capacity;

/// Resources that a virtual machine takes from its hypervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Virtual processors.
    pub cpus: i64,
    /// Memory, in bytes.
    pub memory: i64,
}

impl Demand {
    /// Resources that a Machine takes.
    pub fn of(spec: &LibvirtMachineProviderSpec) -> Self {
        Self {
            cpus: i64::from(spec.cpus),
            memory: quantity::bytes(&spec.memory).unwrap_or_default(),
        }
    }
}

impl std::ops::AddAssign for Demand {
    fn add_assign(&mut self, other: Self) {
        self.cpus += other.cpus;
        self.memory += other.memory;
    }
}

/// A Hypervisor that may be chosen.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its failure domain.
    pub failure_domain: Option<String>,
    /// Why nothing may be created on it, in a few words, such as in maintenance.
    pub held_back: Option<&'static str>,
    /// Capacity that its gateway reports; `None` while it does not answer.
    pub capacity: Option<Capacity>,
    /// Resources of Machines that are placed on it and not created yet.
    pub reserved: Demand,
    /// The Machines of the cluster that are on it.
    pub crowd: Crowd,
    /// This Machine has left it before, because it could not be created there.
    pub was_left: bool,
}

impl Candidate {
    fn free(&self) -> Option<Demand> {
        let capacity = self.capacity.as_ref()?;
        Some(Demand {
            cpus: capacity.cpus.free() - self.reserved.cpus,
            memory: capacity.memory_bytes.free() - self.reserved.memory,
        })
    }

    fn obstacle(&self, spec: &LibvirtMachineProviderSpec) -> Option<String> {
        let demand = Demand::of(spec);
        let lacks = self
            .capacity
            .as_ref()
            .and_then(|capacity| lacks(spec, capacity));
        match (self.held_back, self.free(), lacks) {
            (Some(why), ..) => Some(why.to_owned()),
            (None, None, _) => Some("unreachable".to_owned()),
            (None, Some(_), Some(what)) => Some(format!("without {what}")),
            (None, Some(free), None) => {
                let is_full = free.cpus < demand.cpus || free.memory < demand.memory;
                is_full.then(|| "full".to_owned())
            }
        }
    }

    /// How much of its memory is taken, in thousandths.
    fn load(&self) -> i64 {
        let Some(memory) = self.capacity.as_ref().map(|capacity| capacity.memory_bytes) else {
            return i64::MAX;
        };
        (memory.allocated + self.reserved.memory).saturating_mul(1000) / memory.limit.max(1)
    }
}

/// The first storage pool, network or bridge that a Machine names and a hypervisor does not have.
/// What a gateway does not tell of, it may have.
fn lacks(spec: &LibvirtMachineProviderSpec, capacity: &Capacity) -> Option<String> {
    let is_missing = |known: &Option<Vec<String>>, name: &String| {
        known.as_ref().is_some_and(|known| !known.contains(name))
    };
    let pools = capacity.pools.as_ref();
    let pools = pools.map(|pools| pools.iter().map(|pool| pool.name.clone()).collect());
    let disks = spec.disks.iter().map(|disk| &disk.pool);
    let mut wanted = std::iter::once(&spec.root_disk.pool).chain(disks);
    if let Some(pool) = wanted.find(|name| is_missing(&pools, name)) {
        return Some(format!("pool {pool}"));
    }
    let mut interfaces = spec.interfaces().into_iter();
    interfaces.find_map(|interface| match interface {
        Interface::Network(name) => {
            is_missing(&capacity.networks, &name).then(|| format!("network {name}"))
        }
        Interface::Bridge(name) => {
            is_missing(&capacity.bridges, &name).then(|| format!("bridge {name}"))
        }
    })
}

/// The Hypervisor for a Machine: one that matches, has what it names, and has room; one that it has
/// not left before, in the failure domain with the least [`Crowd`] of the cluster, and there the
/// one with the least load.
///
/// # Errors
/// [`Why`]: the selector is invalid, or no Hypervisor matches, or none that matches has room.
pub fn choose(
    spec: &LibvirtMachineProviderSpec,
    candidates: &[Candidate],
    machine_uid: &str,
) -> Result<String, Why> {
    let selector = selector(&spec.hypervisor_selector)?;
    let matching: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| selector.matches(&candidate.labels))
        .filter(|candidate| {
            spec.failure_domain.is_none() || candidate.failure_domain == spec.failure_domain
        })
        .collect();
    if matching.is_empty() {
        let cause = format!(
            "none of {} Hypervisors in the namespace matches hypervisorSelector and failureDomain",
            candidates.len()
        );
        let remedy = "label a Hypervisor, or correct the selector";
        return Err(Why::new(Reason::NoMatchingHypervisor, cause).remedied(remedy));
    }
    let mut crowds: BTreeMap<Option<&str>, Crowd> = BTreeMap::new();
    for candidate in candidates {
        *crowds
            .entry(candidate.failure_domain.as_deref())
            .or_default() += candidate.crowd;
    }
    let open = matching
        .iter()
        .filter(|candidate| candidate.obstacle(spec).is_none());
    let best = open.min_by_key(|candidate| {
        let crowd = crowds.get(&candidate.failure_domain.as_deref()).copied();
        (
            candidate.was_left,
            crowd.unwrap_or_default(),
            candidate.load(),
            preference(machine_uid, &candidate.uid),
            candidate.name.clone(),
        )
    });
    best.map(|candidate| candidate.name.clone())
        .ok_or_else(|| refusal(&matching, spec))
}

/// Whether a Machine that has a place, and nothing there yet, would find another that it has not
/// left before.
pub fn is_elsewhere(
    spec: &LibvirtMachineProviderSpec,
    candidates: &[Candidate],
    here: &str,
) -> bool {
    let others = candidates
        .iter()
        .filter(|candidate| candidate.name != here && !candidate.was_left);
    let others: Vec<Candidate> = others.cloned().collect();
    choose(spec, &others, "").is_ok()
}

fn selector(selector: &LabelSelector) -> Result<Selector, Why> {
    Selector::try_from(selector.clone()).map_err(|error| {
        Why::new(
            Reason::InvalidConfiguration,
            format!("spec.providerSpec.value.hypervisorSelector: {error}"),
        )
    })
}

fn refusal(matching: &[&Candidate], spec: &LibvirtMachineProviderSpec) -> Why {
    let demand = Demand::of(spec);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for candidate in matching {
        if let Some(obstacle) = candidate.obstacle(spec) {
            *counts.entry(obstacle).or_default() += 1;
        }
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    let matches = match matching.len() {
        1 => "1 Hypervisor matches".to_owned(),
        count => format!("{count} Hypervisors match"),
    };
    let mib = |bytes: i64| bytes >> 20;
    let most = matching
        .iter()
        .filter(|candidate| candidate.held_back.is_none())
        .filter_map(|candidate| candidate.free())
        .max_by_key(|free| (free.memory, free.cpus));
    let room = most.map_or(String::new(), |free| {
        format!(
            "; the Machine needs {} CPUs and {} MiB, and the Hypervisor with the most free memory has {} CPUs and {} MiB left",
            demand.cpus,
            mib(demand.memory),
            free.cpus.max(0),
            mib(free.memory).max(0)
        )
    });
    Why::new(
        Reason::NoHypervisorAvailable,
        format!("{matches} the selector: {}{room}", parts.join(", ")),
    )
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
