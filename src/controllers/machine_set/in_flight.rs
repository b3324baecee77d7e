//! Writes of this process to the Machines of its sets that the watch may not show yet.
//!
//! Only the leader creates and deletes Machines for sets. If it counted only listed Machines, a
//! lagging watch would make it create a Machine twice, or count a Machine in deletion as a
//! remaining one. Writes of an earlier process are found by a live list before the first Machine is
//! created.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::controllers::live_read::Look;
use tatara_core::api::Machine;
use tatara_core::machine_set::plan::after;

/// How long a Machine may be missing from the watch before it is read live, in seconds. Longer than
/// an API server processes a request: a Machine still missing was never created, or was deleted
/// again.
const UNSEEN: i64 = 75;

/// Writes of this process that the watch may not show yet, by UID of the set.
#[derive(Clone, Debug, Default)]
pub struct InFlight(HashMap<String, Flight>);

#[derive(Clone, Debug, Default)]
struct Flight {
    /// By name: the Machine, and when it was requested, or last known to exist.
    made: BTreeMap<String, (Arc<Machine>, Timestamp)>,
    /// By UID: Machines whose deletion was requested.
    deleted: HashMap<String, Deletion>,
    /// The last live read before an action.
    look: Look,
}

/// A Machine whose deletion was requested.
#[derive(Clone, Debug)]
struct Deletion {
    name: String,
    /// When the deletion was requested, or last known to be in progress.
    since: Timestamp,
}

impl Flight {
    /// Whether an event of the watch is outstanding.
    fn awaits(&self) -> bool {
        !self.made.is_empty() || !self.deleted.is_empty()
    }
}

impl InFlight {
    /// Whether the Machines of this set were listed live since this process leads, and that holds
    /// ([`Look::holds`]).
    pub fn knows(&self, set: &str, now: Look) -> bool {
        let flight = self.0.get(set);
        flight.is_some_and(|flight| flight.look.holds(now))
    }

    /// Records Machines of the set that a live list returned.
    pub fn listed(&mut self, set: &str, live: &[Arc<Machine>], now: Timestamp) {
        let flight = self.0.entry(set.to_owned()).or_default();
        for machine in live {
            let made = (machine.clone(), now);
            flight.made.insert(machine.name_any(), made);
        }
    }

    /// Records a live read of the set before an action. (After a restore the generation may be
    /// lower.)
    pub fn looked(&mut self, set: &str, look: Look) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.look = look;
        }
    }

    /// Records the creation of a Machine, before the request is sent: if the response is lost, it
    /// is unknown whether the request was executed.
    pub fn making(&mut self, set: &str, machine: Machine, now: Timestamp) {
        self.listed(set, &[Arc::new(machine)], now);
    }

    /// Records a Machine that a request returned. The watch may already have shown it, or even its
    /// deletion. One without a deletion timestamp after `UNSEEN` was not deleted, or was restored.
    /// One that is not owned by the set is dropped.
    pub fn found(&mut self, set: &str, machine: Machine, now: Timestamp) {
        let Some(flight) = self.0.get_mut(set) else {
            return;
        };
        let uid = machine.uid().unwrap_or_default();
        if machine
            .owner_references()
            .iter()
            .all(|owner| owner.uid != set)
        {
            flight.made.remove(&machine.name_any());
        }
        if let Some(deleted) = flight.deleted.get_mut(&uid) {
            if !stays(&machine) {
                deleted.since = now;
            } else if is_overdue(deleted.since, now) {
                flight.deleted.remove(&uid);
            }
        }
        if let Some(made) = flight.made.get_mut(&machine.name_any()) {
            *made = (Arc::new(machine), now);
        }
    }

    /// Records that the Machine of this name was not created, or that the watch shows it from now
    /// on.
    pub fn settled(&mut self, set: &str, name: &str) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.made.remove(name);
        }
    }

    /// Records that no Machine of this name exists; the watch will show that.
    pub fn gone(&mut self, set: &str, name: &str, now: Timestamp) {
        self.settled(set, name);
        let flight = self.0.get_mut(set).into_iter();
        let deleted = flight.flat_map(|flight| flight.deleted.values_mut());
        for deleted in deleted.filter(|deleted| deleted.name == name) {
            deleted.since = now;
        }
    }

    /// Records a deletion, before the request is sent: if the response is lost, it is unknown
    /// whether the request was executed, and a Machine that may be in deletion does not count as
    /// available.
    pub fn deleting(&mut self, set: &str, (name, uid): (&str, &str), now: Timestamp) {
        let flight = self.0.entry(set.to_owned()).or_default();
        let deleted = Deletion {
            name: name.to_owned(),
            since: now,
        };
        flight.deleted.insert(uid.to_owned(), deleted);
    }

    /// Records that the API server refused a deletion.
    pub fn kept(&mut self, set: &str, uid: &str) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.deleted.remove(uid);
        }
    }

    /// Forgets a deleted set.
    pub fn forget(&mut self, set: &str) {
        self.0.remove(set);
    }

    /// The Machines of the set: those in `listed` and those created, with requested deletions
    /// marked as in deletion. `shows` reports whether any Machine has a name: one that has another
    /// owner now is not listed for the set.
    pub fn count(
        &self,
        set: &str,
        mut listed: Vec<Arc<Machine>>,
        shows: impl Fn(&str) -> bool,
    ) -> Vec<Arc<Machine>> {
        let Some(flight) = self.0.get(set).filter(|flight| flight.awaits()) else {
            return listed;
        };
        let mut unlisted: BTreeMap<&String, &Arc<Machine>> = flight
            .made
            .iter()
            .map(|(name, (machine, _))| (name, machine))
            .collect();
        for name in listed.iter().filter_map(|one| one.metadata.name.as_ref()) {
            unlisted.remove(name);
        }
        let unlisted = unlisted.into_iter().filter(|(name, _)| !shows(name));
        listed.extend(unlisted.map(|(_, machine)| Arc::clone(machine)));
        if flight.deleted.is_empty() {
            return listed;
        }
        for machine in &mut listed {
            let at = machine.uid().and_then(|uid| flight.deleted.get(&uid));
            if let Some(deleted) = at.filter(|_| stays(machine)) {
                Arc::make_mut(machine).metadata.deletion_timestamp = Some(Time(deleted.since));
            }
        }
        listed
    }

    /// The names of created Machines that the watch did not show when the set was last counted.
    pub fn made(&self, set: &str) -> Vec<String> {
        let flight = self.0.get(set).into_iter();
        flight
            .flat_map(|flight| flight.made.keys().cloned())
            .collect()
    }

    /// Drops entries that the watch shows, and counts. `shows` must be determined before the
    /// Machines are listed: one that appears in between would be neither listed nor recorded.
    pub fn settle(
        &mut self,
        set: &str,
        watched: Vec<Arc<Machine>>,
        shows: impl Fn(&str) -> bool,
    ) -> Vec<Arc<Machine>> {
        if let Some(flight) = self.0.get_mut(set).filter(|flight| flight.awaits()) {
            // few are in flight of thousands: these are looked up among those
            let listed = watched.iter().filter_map(|one| one.metadata.name.as_ref());
            for name in listed {
                flight.made.remove(name);
            }
            flight.made.retain(|name, _| !shows(name));
            if !flight.deleted.is_empty() {
                let made = flight.made.values().map(|(machine, _)| machine);
                let staying = made.chain(&watched).filter(|machine| stays(machine));
                let staying = staying.filter_map(|machine| machine.metadata.uid.as_ref());
                let staying = staying.filter_map(|uid| flight.deleted.remove_entry(uid));
                let staying = staying.collect();
                flight.deleted = staying;
            }
        }
        self.count(set, watched, shows)
    }

    /// Names of created or deleted Machines of the set that the watch should have shown by
    /// now.
    pub fn overdue(&self, set: &str, now: Timestamp) -> BTreeSet<String> {
        let awaited = self.awaited(set);
        awaited
            .filter(|(_, since)| is_overdue(*since, now))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// When the next Machine of the set is overdue.
    pub fn due(&self, set: &str, now: Timestamp) -> Option<Timestamp> {
        let awaited = self.awaited(set);
        awaited
            .map(|(_, since)| after(since.min(now), UNSEEN))
            .min()
    }

    /// Machines for which an event of the watch is outstanding, by name, and since when.
    fn awaited(&self, set: &str) -> impl Iterator<Item = (&String, Timestamp)> {
        self.0.get(set).into_iter().flat_map(|flight| {
            let made = flight.made.iter().map(|(name, (_, since))| (name, *since));
            let deleted = flight.deleted.values();
            made.chain(deleted.map(|deleted| (&deleted.name, deleted.since)))
        })
    }
}

/// If the clock was set back, a time too far in the future counts as overdue.
fn is_overdue(since: Timestamp, now: Timestamp) -> bool {
    now >= after(since, UNSEEN) || since >= after(now, UNSEEN)
}

fn stays(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
#[path = "in_flight_tests.rs"]
mod tests;
