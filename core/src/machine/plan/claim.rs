//! Which host a Machine takes. Pure; the claim itself is a compare-and-swap.

use crate::Why;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt as _};
use serde_json::{Value, json};

use super::super::kind::PlaceKind;
use super::super::observed::Observed;
use super::failure_domain_spread::Crowd;
use super::requirements::unmet;
use crate::api::conditions::{
    ConditionType, Reason, Severity, Status, find, is_false, is_true, reason_of,
};
use crate::api::host::ConsumerRef;
use crate::api::machine_provider_spec::HostRequirements;
use crate::api::names::{ANNOTATION_HOST, ANNOTATION_PAUSED};
use crate::api::readable::unreadable;
use crate::api::{Host, SshMachineProviderSpec};
use crate::remedy;

/// How many hosts a refusal names.
const NAMED: usize = 3;

/// Why a host that the selector matches cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    Unreadable,
    Claimed,
    Silent,
    Abandoned,
    Releasing,
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
            Self::Silent => "claimed and not answering",
            Self::Abandoned => "claimed by a Machine that does not exist",
            Self::Releasing => "being released",
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

/// The Machine that chooses a host.
#[derive(Clone, Copy, Debug)]
pub struct Chooser<'a> {
    /// Name of its Cluster.
    pub cluster: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// It is a control plane.
    pub is_control_plane: bool,
}

/// The host that a Machine claims: available, matching, in the failure domain with the least
/// [`Crowd`] of its cluster. Among equals each Machine prefers a different one, so that many can
/// claim at once without conflicts. `kind_of` tells whether the Machine that claims a host is a
/// control plane, if that is known.
///
/// # Errors
/// [`Why`]: the selector is invalid, or no Host matches, or none that matches is available.
pub fn choose(
    spec: &SshMachineProviderSpec,
    hosts: &[Arc<Host>],
    chooser: Chooser<'_>,
    kind_of: impl Fn(&Host) -> Option<bool>,
) -> Result<String, Why> {
    let selector = selector(&spec.host_selector)?;
    let matching: Vec<&Arc<Host>> = hosts
        .iter()
        .filter(|host| selector.matches(host.labels()))
        .filter(|host| {
            spec.failure_domain.is_none() || host.spec.failure_domain == spec.failure_domain
        })
        .collect();
    if matching.is_empty() {
        return Err(none_matches(
            &selector,
            spec.failure_domain.as_deref(),
            hosts.len(),
        ));
    }
    let mut used: BTreeMap<Option<&str>, Crowd> = BTreeMap::new();
    for host in hosts {
        if host
            .spec
            .consumer_ref
            .as_ref()
            .is_some_and(|consumer| consumer.cluster == chooser.cluster)
        {
            let crowd = used.entry(host.spec.failure_domain.as_deref());
            let crowd = crowd.or_default();
            crowd.count(chooser.is_control_plane, kind_of(host));
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
            preference(chooser.uid, &host.uid().unwrap_or_default()),
            host.name_any(),
        )
    });
    best.map(|host| host.name_any())
        .ok_or_else(|| refusal(&matching, &spec.requirements))
}

fn none_matches(selector: &Selector, failure_domain: Option<&str>, hosts: usize) -> Why {
    let selector = selector.to_string();
    let labels = (!selector.is_empty()).then(|| format!("hostSelector {selector}"));
    let domain = failure_domain.map(|domain| format!("failureDomain {domain}"));
    let remedy = match (&labels, &domain) {
        (_, None) => "label a Host, add one, or correct hostSelector",
        (None, _) => "set spec.failureDomain of a Host, add one, or correct failureDomain",
        _ => {
            "set labels and spec.failureDomain of a Host, add one, or correct hostSelector and failureDomain"
        }
    };
    let wanted: Vec<_> = labels.into_iter().chain(domain).collect();
    let wanted = wanted.join(" and ");
    let (cause, remedy) = match hosts {
        0 => (
            "no Host is in the namespace".to_owned(),
            "create one for each server",
        ),
        1 => (
            format!("the only Host in the namespace does not match {wanted}"),
            remedy,
        ),
        count => (
            format!("none of {count} Hosts in the namespace matches {wanted}"),
            remedy,
        ),
    };
    Why::new(Reason::NoMatchingHost, cause).remedied(remedy)
}

fn selector(selector: &LabelSelector) -> Result<Selector, Why> {
    Selector::try_from(selector.clone()).map_err(|error| {
        Why::new(
            Reason::InvalidConfiguration,
            format!("spec.providerSpec.value.hostSelector: {error}"),
        )
    })
}

fn refusal(matching: &[&Arc<Host>], requirements: &HostRequirements) -> Why {
    let mut counts: BTreeMap<Obstacle, usize> = BTreeMap::new();
    let mut others = Vec::new();
    for host in matching {
        if let Some(obstacle) = obstacle(host, requirements) {
            *counts.entry(obstacle).or_default() += 1;
            if obstacle != Obstacle::Claimed {
                others.push(match why(host, obstacle, requirements) {
                    Some(why) => format!("{} ({why})", host.name_any()),
                    None => host.name_any(),
                });
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
    let said = matching.iter().find_map(|host| says(host, requirements));
    let awaited = || matching.iter().find_map(|host| awaits(host, requirements));
    let remedy = match said.map(|said| format!(". {said}")).or_else(awaited) {
        Some(remedy) => remedy,
        None => format!(
            "; free, repair or add one; the reasons: {}",
            remedy::host::all(
                &matching
                    .first()
                    .and_then(|h| h.namespace())
                    .unwrap_or_default()
            )
        ),
    };
    // Hosts that are free, and only have not been asked yet
    let is_checked_soon = counts.contains_key(&Obstacle::NotSeen)
        && counts
            .keys()
            .all(|other| matches!(other, Obstacle::Claimed | Obstacle::NotSeen));
    Why::new(
        if is_checked_soon {
            Reason::WaitingForHost
        } else {
            Reason::NoHostAvailable
        },
        format!("{hosts} the selector: {}{others}{remedy}", parts.join(", ")),
    )
}

/// What a Host with a fault says of it, with the remedy: who looks at the Machine, or at its
/// Cluster, needs no other object.
fn says(host: &Host, requirements: &HostRequirements) -> Option<String> {
    let obstacle = obstacle(host, requirements)?;
    let available = unavailable(host).filter(|said| !said.message.is_empty())?;
    let is_told = match obstacle {
        Obstacle::Abandoned => true,
        Obstacle::Releasing => is_fault(available),
        other => other >= Obstacle::Unreachable,
    };
    is_told.then(|| format!("Host {}: {}", host.name_any(), available.message))
}

/// What happens to a Host without anybody, and makes it free.
fn awaits(host: &Host, requirements: &HostRequirements) -> Option<String> {
    let until = match obstacle(host, requirements)? {
        Obstacle::NotSeen => "checked",
        Obstacle::Releasing => "released",
        _ => return None,
    };
    Some(format!("; waiting until {} is {until}", host.name_any()))
}

/// What it lacks, or the reason in the Host's own condition, where that says more than the
/// obstacle.
fn why(host: &Host, obstacle: Obstacle, requirements: &HostRequirements) -> Option<String> {
    match obstacle {
        // said before its spec was changed
        Obstacle::NotSeen => None,
        Obstacle::TooSmall => unmet(host.status.as_ref()?.facts.as_ref()?, requirements),
        // that it is released is said already
        _ => unavailable(host)
            .filter(|said| said.reason != Reason::Claimed)
            .map(|said| said.reason.clone()),
    }
}

/// The condition with which a Host says that it is not available.
fn unavailable(host: &Host) -> Option<&Condition> {
    let conditions = &host.status.as_ref()?.conditions;
    find(conditions, ConditionType::Available).filter(|said| said.status != Status::True)
}

fn is_fault(said: &Condition) -> bool {
    let reason = Reason::parse(&said.reason);
    reason.is_some_and(|reason| reason.severity() == Severity::Warning)
}

/// How a claimed Host stands: whether it comes back by itself, or somebody has to look at it.
fn held(host: &Host, claim: &ConsumerRef, conditions: &[Condition]) -> Obstacle {
    let seen = host.status.as_ref().and_then(|s| s.observed_generation);
    let is_of_this_claim = seen == host.metadata.generation;
    let is_gone = unavailable(host).is_some_and(|said| said.reason == Reason::MachineGone);
    if is_gone && is_of_this_claim {
        Obstacle::Abandoned
    } else if claim.releasing {
        Obstacle::Releasing
    } else if is_false(conditions, ConditionType::Reachable) {
        Obstacle::Silent
    } else {
        Obstacle::Claimed
    }
}

fn obstacle(host: &Host, requirements: &HostRequirements) -> Option<Obstacle> {
    let status = host.status.as_ref();
    let conditions = status
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    if unreadable(host).is_some() {
        Some(Obstacle::Unreadable)
    } else if let Some(claim) = &host.spec.consumer_ref {
        Some(held(host, claim, conditions))
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
        let is_freed = unavailable(host).is_some_and(|said| said.reason == Reason::Freeing);
        Some(if is_freed {
            Obstacle::Releasing
        } else {
            Obstacle::NotSeen
        })
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
    } else if status
        .and_then(|s| s.facts.as_ref())
        .is_none_or(|facts| unmet(facts, requirements).is_some())
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

/// Preference of a Machine for a host: rendezvous hashing (FNV-1a) of the two UIDs.
pub(super) fn preference(machine: &str, host: &str) -> u64 {
    let bytes = machine.bytes().chain([0]).chain(host.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// That a Machine chose this place, and with it its provider ID. Of the hosts that people own the
/// name is written down before the claim: after a crash between the two only that host is claimed.
pub fn chosen(observed: &Observed, host: &str) -> Value {
    let mut change = json!({ "spec": { "providerID": observed.provider_id() } });
    let spec = observed.spec.as_ref();
    if spec.is_ok_and(|spec| PlaceKind::of_spec(spec).is_written_first()) {
        change["metadata"]["annotations"] = json!({ (ANNOTATION_HOST): host });
    }
    change
}
