//! Which host a Machine takes. Pure; the claim itself is a compare-and-swap.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt as _};
use serde_json::{Value, json};

use super::super::kind::PlaceKind;
use super::super::observed::{Observed, Refusal};
use crate::api::conditions::{ConditionType, Reason, Status, find, is_true, reason_of};
use crate::api::host::HostFacts;
use crate::api::machine_provider_spec::HostRequirements;
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_PAUSED};
use crate::api::readable::unreadable;
use crate::api::{Host, SshMachineProviderSpec};

/// How many hosts a refusal names.
const NAMED: usize = 3;

/// Why a host that the selector matches cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    Unreadable,
    Claimed,
    Paused,
    Maintenance,
    Deleting,
    NotSeen,
    Unreachable,
    Refusing,
    Dirty,
    TooSmall,
    Unavailable,
}

impl Obstacle {
    fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Claimed => "claimed",
            Self::Paused => "paused",
            Self::Maintenance => "in maintenance",
            Self::Deleting => "being deleted",
            Self::NotSeen => "not checked yet",
            Self::Unreachable => "unreachable",
            Self::Refusing => "refusing the login",
            Self::Dirty => "not clean",
            Self::TooSmall => "below the requirements",
            Self::Unavailable => "not available",
        }
    }
}

/// The host that a Machine claims: available, matching, in the failure domain that holds the fewest of
/// its cluster's machines. Among equals each Machine prefers a different one, so that many can claim at
/// once without conflicts.
///
/// # Errors
/// [`Refusal`]: the selector is invalid, or no Host matches, or none that matches is available.
pub fn choose(
    spec: &SshMachineProviderSpec,
    hosts: &[Arc<Host>],
    cluster: &str,
    machine_uid: &str,
) -> Result<String, Refusal> {
    let selector = selector(&spec.host_selector)?;
    let matching: Vec<&Arc<Host>> = hosts
        .iter()
        .filter(|host| selector.matches(host.labels()))
        .filter(|host| {
            spec.failure_domain.is_none() || host.spec.failure_domain == spec.failure_domain
        })
        .collect();
    if matching.is_empty() {
        let message = format!(
            "none of {} Hosts in the namespace matches hostSelector and failureDomain; label a Host, or correct the selector",
            hosts.len()
        );
        return Err(Refusal {
            reason: Reason::NoMatchingHost,
            message,
        });
    }
    let mut used: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for host in hosts {
        if host
            .spec
            .consumer_ref
            .as_ref()
            .is_some_and(|consumer| consumer.cluster == cluster)
        {
            *used.entry(host.spec.failure_domain.as_deref()).or_default() += 1;
        }
    }
    let free = matching
        .iter()
        .filter(|host| obstacle(host, &spec.requirements).is_none());
    let best = free.min_by_key(|host| {
        let crowd = used
            .get(&host.spec.failure_domain.as_deref())
            .copied()
            .unwrap_or_default();
        (
            crowd,
            preference(machine_uid, &host.uid().unwrap_or_default()),
            host.name_any(),
        )
    });
    best.map(|host| host.name_any())
        .ok_or_else(|| refusal(&matching, &spec.requirements))
}

fn selector(selector: &LabelSelector) -> Result<Selector, Refusal> {
    Selector::try_from(selector.clone()).map_err(|error| Refusal {
        reason: Reason::InvalidConfiguration,
        message: format!("spec.providerSpec.value.hostSelector: {error}"),
    })
}

fn refusal(matching: &[&Arc<Host>], requirements: &HostRequirements) -> Refusal {
    let mut counts: BTreeMap<Obstacle, usize> = BTreeMap::new();
    let mut others = Vec::new();
    for host in matching {
        if let Some(obstacle) = obstacle(host, requirements) {
            *counts.entry(obstacle).or_default() += 1;
            if obstacle != Obstacle::Claimed {
                others.push(format!("{} ({})", host.name_any(), why(host, obstacle)));
            }
        }
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(obstacle, count)| format!("{count} {}", obstacle.words()))
        .collect();
    let hosts = if matching.len() == 1 {
        "1 host matches"
    } else {
        &format!("{} hosts match", matching.len())
    };
    let more = if others.len() > NAMED { ", ..." } else { "" };
    others.truncate(NAMED);
    let others = match others.join(", ") {
        names if names.is_empty() => names,
        names => format!(": {names}{more}"),
    };
    let remedy = match matching.iter().find_map(|host| says(host, requirements)) {
        Some(said) => format!(". {said}"),
        None => format!(
            "; kubectl -n {} get hosts shows why; free, repair or add one",
            matching
                .first()
                .and_then(|h| h.namespace())
                .unwrap_or_default()
        ),
    };
    Refusal {
        reason: Reason::NoHostAvailable,
        message: format!("{hosts} the selector: {}{others}{remedy}", parts.join(", ")),
    }
}

/// What a Host with a fault says of it, with the remedy: who looks at the Machine, or at its Cluster, needs no other object.
fn says(host: &Host, requirements: &HostRequirements) -> Option<String> {
    let obstacle = obstacle(host, requirements)?;
    if obstacle < Obstacle::Unreachable {
        return None;
    }
    let status = host.status.as_ref()?;
    let available = find(&status.conditions, ConditionType::Available)?;
    let is_told = available.status != Status::True && !available.message.is_empty();
    is_told.then(|| format!("Host {}: {}", host.name_any(), available.message))
}

/// The reason in the Host's own condition, or what keeps it back.
fn why(host: &Host, obstacle: Obstacle) -> &str {
    let status = host.status.as_ref();
    let available = status.and_then(|status| find(&status.conditions, ConditionType::Available));
    match available {
        Some(available) if available.status != Status::True => &available.reason,
        _ => obstacle.words(),
    }
}

fn obstacle(host: &Host, requirements: &HostRequirements) -> Option<Obstacle> {
    let status = host.status.as_ref();
    let conditions = status
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    if unreadable(host).is_some() {
        Some(Obstacle::Unreadable)
    } else if host.spec.consumer_ref.is_some() {
        Some(Obstacle::Claimed)
    } else if host.annotations().contains_key(ANNOTATION_PAUSED) {
        Some(Obstacle::Paused)
    } else if host.spec.maintenance {
        Some(Obstacle::Maintenance)
    } else if host.metadata.deletion_timestamp.is_some() {
        Some(Obstacle::Deleting)
    } else if find(conditions, ConditionType::Reachable).is_none()
        // what stands in its status was said of another address, or with other keys
        || status.and_then(|status| status.observed_generation) != host.metadata.generation
    {
        Some(Obstacle::NotSeen)
    } else if !is_true(conditions, ConditionType::Reachable) && !rests(conditions) {
        let why = reason_of(conditions, ConditionType::Reachable);
        let is_refused = why.is_some_and(Reason::is_refused_login);
        Some(if is_refused {
            Obstacle::Refusing
        } else {
            Obstacle::Unreachable
        })
    } else if !is_true(conditions, ConditionType::Clean) {
        Some(Obstacle::Dirty)
    } else if !status
        .and_then(|s| s.facts.as_ref())
        .is_some_and(|facts| meets(facts, requirements))
    {
        Some(Obstacle::TooSmall)
    } else if !is_true(conditions, ConditionType::Available) {
        Some(Obstacle::Unavailable)
    } else {
        None
    }
}

/// Switched off by Tatara while no Machine has it: a claim switches it on.
pub fn rests(conditions: &[Condition]) -> bool {
    let power = find(conditions, ConditionType::PowerOn);
    power.is_some_and(|power| power.status == Status::False && power.reason == Reason::SwitchedOff)
}

fn meets(facts: &HostFacts, wanted: &HostRequirements) -> bool {
    let bytes = |quantity: &Option<_>| quantity.as_ref().and_then(crate::api::quantity::bytes);
    wanted.cpus.is_none_or(|cpus| facts.cpus >= cpus)
        && bytes(&wanted.memory).is_none_or(|memory| facts.memory_bytes >= memory)
        && bytes(&wanted.disk).is_none_or(|disk| facts.disk_bytes >= disk)
        && wanted
            .architecture
            .as_ref()
            .is_none_or(|architecture| facts.architecture == *architecture)
}

/// Preference of a Machine for a host: rendezvous hashing (FNV-1a) of the two UIDs.
pub(super) fn preference(machine: &str, host: &str) -> u64 {
    let bytes = machine.bytes().chain([0]).chain(host.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// That a Machine chose this place, and with it its provider ID. Of the hosts that people own the name is written down
/// before the claim: after a crash between the two only that host is claimed.
pub fn chosen(observed: &Observed, host: &str) -> Value {
    let mut change = json!({ "spec": { "providerID": observed.provider_id() } });
    let spec = observed.spec.as_ref();
    if spec.is_ok_and(|spec| PlaceKind::of_spec(spec).is_written_first()) {
        change["metadata"]["annotations"] = json!({ (ANNOTATION_HOST): host });
    }
    change
}
