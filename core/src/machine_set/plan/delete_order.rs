//! Which Machines are deleted first when a set is scaled down.
//!
//! The order is a promise that a MachineDeployment builds on: apart from Machines that a user
//! marked, no available Machine is deleted while one is left that is not.

use std::cmp::Reverse;

use k8s_openapi::jiff::Timestamp;

use super::super::observed::{Observed, ObservedMachine};
use super::Action;
use super::counts::{Health, health};
use crate::api::machine_set::DeletePolicy;
use crate::api::names::ANNOTATION_DELETE_MACHINE;

/// Deletes `count` Machines, or moves them where the set has a destination: the marked ones, then
/// the worst, then according to the policy, ties by name. Machines without UID, whose creation is
/// not confirmed, count first: nothing is done with these, and no other is deleted in their place.
pub fn delete(
    observed: &Observed,
    live: &[&ObservedMachine],
    count: usize,
    now: Timestamp,
) -> Vec<Action> {
    let chosen = choose(observed, live, count, now).into_iter();
    chosen
        .map(|(machine, because)| match &observed.moves_to {
            Some(to) => Action::Move {
                name: machine.name.clone(),
                uid: machine.uid.clone(),
                to: to.clone(),
                because,
            },
            None => Action::Delete {
                name: machine.name.clone(),
                uid: machine.uid.clone(),
                because,
            },
        })
        .collect()
}

/// Which Machines go, and why each.
fn choose<'a>(
    observed: &Observed,
    live: &[&'a ObservedMachine],
    count: usize,
    now: Timestamp,
) -> Vec<(&'a ObservedMachine, String)> {
    let scale = format!(
        "{} Machines > {} spec.replicas",
        live.len(),
        observed.replicas
    );
    let mut ranked: Vec<_> = live
        .iter()
        .filter(|machine| !machine.unreadable)
        .map(|machine| (health(machine, observed.min_ready_seconds, now), *machine))
        .collect();
    ranked.sort_by(|(a_health, a), (b_health, b)| {
        let key = |health: Health, machine: &ObservedMachine| {
            // a mark asks for a deletion, not for a move
            let is_first = observed.moves_to.is_none() && is_marked(machine);
            (!machine.uid.is_empty(), !is_first, health)
        };
        key(*a_health, a)
            .cmp(&key(*b_health, b))
            .then_with(|| by_policy(observed.delete_policy, a, b))
            .then_with(|| a.name.cmp(&b.name))
    });
    let victims = ranked.into_iter().take(count);
    victims
        .filter(|(_, machine)| !machine.uid.is_empty())
        .map(|(health, machine)| {
            let why = why(observed, machine, health);
            (machine, format!("{scale}; {why}"))
        })
        .collect()
}

fn why(observed: &Observed, machine: &ObservedMachine, health: Health) -> String {
    if is_marked(machine) {
        return format!("it is marked {ANNOTATION_DELETE_MACHINE}");
    }
    match health {
        Health::Unhealthy => "it is unhealthy".into(),
        Health::Starting => "it has no Node yet".into(),
        Health::NotReady => "its Node is not Ready".into(),
        Health::Settling => "it has not been Ready for minReadySeconds".into(),
        Health::Available => format!("deletePolicy {:?} names it first", observed.delete_policy),
    }
}

/// The key alone counts: people write it without a value.
fn is_marked(machine: &ObservedMachine) -> bool {
    machine.annotations.contains_key(ANNOTATION_DELETE_MACHINE)
}

fn by_policy(policy: DeletePolicy, a: &ObservedMachine, b: &ObservedMachine) -> std::cmp::Ordering {
    match policy {
        DeletePolicy::Random => fnv1a(&a.uid).cmp(&fnv1a(&b.uid)),
        DeletePolicy::Newest => Reverse(a.created).cmp(&Reverse(b.created)),
        DeletePolicy::Oldest => a.created.cmp(&b.created),
    }
}

/// FNV-1a: spreads well, needs no seed, and is the same in every process and version.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
