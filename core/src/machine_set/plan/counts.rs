//! The counters of a MachineSet's status.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::super::observed::{Observed, ObservedMachine};
use crate::api::MachineSetStatus;

/// How long a Node may be not Ready before its Machine counts as unhealthy, in seconds. As long as
/// Kubernetes lets pods tolerate it: shorter, and a reboot or a Node that is just joining would do.
const NOT_READY_GRACE: i64 = 300;

/// The counters of a MachineSet's status. Machines in deletion are in `deleting` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Machines of the set.
    pub replicas: i32,
    /// Those that have all labels of the template.
    pub fully_labeled: i32,
    /// Those whose Node is Ready.
    pub ready: i32,
    /// Those that have been Ready for `minReadySeconds`.
    pub available: i32,
    /// Those that failed, or whose Node has not been Ready for too long.
    pub unhealthy: i32,
    /// Those that have no Node yet.
    pub starting: i32,
    /// Machines that are being deleted.
    pub deleting: i32,
    /// When a Machine was last created, became Ready or was deleted.
    pub last_progress: Option<Timestamp>,
}

impl Counts {
    /// Writes the counters into a status.
    pub fn write(&self, status: &mut MachineSetStatus) {
        status.replicas = self.replicas;
        status.fully_labeled_replicas = self.fully_labeled;
        status.ready_replicas = self.ready;
        status.available_replicas = self.available;
        status.unhealthy_replicas = self.unhealthy;
        status.starting_replicas = self.starting;
        status.terminating_replicas = self.deleting;
        status.last_progress_time = self
            .last_progress
            .map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time);
    }
}

/// How well a Machine is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It failed, or its Node has not been Ready for too long.
    Unhealthy,
    /// It has no Node yet.
    Starting,
    /// Its Node is not Ready, or cannot be seen.
    NotReady,
    /// It is Ready, and not yet for `minReadySeconds`, or it is being updated.
    Settling,
    /// It has been Ready for `minReadySeconds`.
    Available,
}

/// How well a Machine is.
pub fn health(machine: &ObservedMachine, min_ready_seconds: i32, now: Timestamp) -> Health {
    let lost = machine
        .not_ready_since
        .is_some_and(|at| now >= after(at, NOT_READY_GRACE));
    // a node in another version has to prove itself anew
    let since = machine.ready_since.max(machine.updated_since);
    match machine.ready_since.and(since) {
        _ if machine.failed || lost => Health::Unhealthy,
        Some(_) if machine.updating => Health::Settling,
        Some(at) if now >= after(at, min_ready_seconds.into()) => Health::Available,
        Some(_) => Health::Settling,
        None if machine.has_node => Health::NotReady,
        None => Health::Starting,
    }
}

/// Counts the set's Machines.
pub fn count(observed: &Observed, mine: &[&ObservedMachine], now: Timestamp) -> Counts {
    let mut counts = Counts {
        last_progress: mine.iter().flat_map(|machine| steps(machine)).max(),
        ..Counts::default()
    };
    for machine in mine {
        if machine.deleting.is_some() {
            counts.deleting += 1;
            continue;
        }
        let health = health(machine, observed.min_ready_seconds, now);
        counts.replicas += 1;
        counts.fully_labeled += i32::from(is_fully_labeled(observed, machine));
        counts.ready += i32::from(matches!(health, Health::Settling | Health::Available));
        counts.available += i32::from(health == Health::Available);
        counts.unhealthy += i32::from(health == Health::Unhealthy);
        counts.starting += i32::from(health == Health::Starting);
    }
    counts
}

fn steps(machine: &ObservedMachine) -> impl Iterator<Item = Timestamp> {
    [
        Some(machine.created),
        machine.ready_since,
        machine.updated_since,
        machine.deleting,
    ]
    .into_iter()
    .flatten()
}

fn is_fully_labeled(observed: &Observed, machine: &ObservedMachine) -> bool {
    let wanted = &observed.template.metadata.labels;
    wanted
        .iter()
        .all(|(key, value)| machine.labels.get(key) == Some(value))
}

/// When the next Machine becomes available, or unhealthy, by the passing of time alone.
pub fn next_change(
    observed: &Observed,
    mine: &[&ObservedMachine],
    now: Timestamp,
) -> Option<Timestamp> {
    let min_ready = observed.min_ready_seconds.into();
    let live = mine.iter().filter(|machine| machine.deleting.is_none());
    live.flat_map(|machine| {
        let since = machine.ready_since.max(machine.updated_since);
        let available = machine
            .ready_since
            .and(since)
            .map(|at| after(at, min_ready));
        let unhealthy = machine.not_ready_since.map(|at| after(at, NOT_READY_GRACE));
        [available, unhealthy].into_iter().flatten()
    })
    .filter(|at| *at > now)
    .min()
}

/// A time, so many seconds later.
pub fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX)
}
