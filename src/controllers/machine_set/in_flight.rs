//! What this process did to the Machines of its sets and the watch may not show yet.
//!
//! Only the process that leads makes and deletes Machines for sets. Were its sets counted by what is
//! listed alone, a watch that lags would have it make a Machine twice, or take one that leaves for one
//! that stays. What a process before it did is listed live, before the first Machine is made.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::api::Machine;
use crate::core::machine_set::plan::after;

/// How long a Machine may be missing from the watch before it is read live, in seconds. Longer than an
/// API server works on a request: what is not there by then was never made, or has gone again.
const UNSEEN: i64 = 75;

/// What this process did and the watch may not show yet, by UID of the set.
#[derive(Clone, Debug, Default)]
pub struct InFlight(HashMap<String, Flight>);

#[derive(Clone, Debug, Default)]
struct Flight {
    /// By name: the Machine, and when it was last known to be there, or to be asked for.
    made: BTreeMap<String, (Arc<Machine>, Timestamp)>,
    /// By UID: Machines that were told to go.
    deleted: HashMap<String, Deletion>,
    /// The generation of the set when it was last read live, to act by it.
    generation: Option<i64>,
}

/// A Machine that was told to go.
#[derive(Clone, Debug)]
struct Deletion {
    name: String,
    /// When it was told, or last known to go.
    since: Timestamp,
}

impl Flight {
    /// Whether the watch has to tell of anything yet.
    fn awaits(&self) -> bool {
        !self.made.is_empty() || !self.deleted.is_empty()
    }
}

impl InFlight {
    /// Whether the Machines of this set were listed live since this process leads, and the watch shows the set, of this
    /// generation, not from before what was acted upon since: what it asked for then is over.
    pub fn knows(&self, set: &str, generation: Option<i64>) -> bool {
        let flight = self.0.get(set);
        flight.is_some_and(|flight| flight.generation <= generation)
    }

    /// Whether they were listed at all.
    pub fn has_listed(&self, set: &str) -> bool {
        self.0.contains_key(set)
    }

    /// The Machines of the set were listed live: these are there.
    pub fn listed(&mut self, set: &str, live: &[Arc<Machine>], now: Timestamp) {
        let flight = self.0.entry(set.to_owned()).or_default();
        for machine in live {
            let made = (machine.clone(), now);
            flight.made.insert(machine.name_any(), made);
        }
    }

    /// The set was read live, and is acted upon as it was then. (After a restore that is an earlier one.)
    pub fn looked(&mut self, set: &str, generation: Option<i64>) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.generation = generation;
        }
    }

    /// A Machine of the set is being made. From before the request on: of a request without an answer
    /// nobody knows whether it was carried out.
    pub fn making(&mut self, set: &str, machine: Machine, now: Timestamp) {
        self.listed(set, &[Arc::new(machine)], now);
    }

    /// A Machine is there. It may have been seen, and even been seen to go, before the answer came. One that stays for so
    /// long was never deleted, or is there again after a restore. What was made and is not the set's is another's.
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

    /// The Machine of this name was not made after all, or the watch tells of it from now on.
    pub fn settled(&mut self, set: &str, name: &str) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.made.remove(name);
        }
    }

    /// There is no Machine of this name any more; the watch will tell.
    pub fn gone(&mut self, set: &str, name: &str, now: Timestamp) {
        self.settled(set, name);
        let flight = self.0.get_mut(set).into_iter();
        let deleted = flight.flat_map(|flight| flight.deleted.values_mut());
        for deleted in deleted.filter(|deleted| deleted.name == name) {
            deleted.since = now;
        }
    }

    /// The Machine with this name and UID is told to go. From before the request on: of one without an answer nobody
    /// knows whether it was carried out, and a Machine that may be leaving is not one that is available.
    pub fn deleting(&mut self, set: &str, (name, uid): (&str, &str), now: Timestamp) {
        let flight = self.0.entry(set.to_owned()).or_default();
        let deleted = Deletion {
            name: name.to_owned(),
            since: now,
        };
        flight.deleted.insert(uid.to_owned(), deleted);
    }

    /// The API server refuses that: it stays.
    pub fn kept(&mut self, set: &str, uid: &str) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.deleted.remove(uid);
        }
    }

    /// Forgets a set that is gone.
    pub fn forget(&mut self, set: &str) {
        self.0.remove(set);
    }

    /// The Machines of the set: what is `listed`, what was made, and what was deleted as being deleted.
    /// `shows` says whether there is any Machine of a name: one that was given to somebody else is not
    /// listed for the set.
    pub fn count(
        &self,
        set: &str,
        mut listed: Vec<Arc<Machine>>,
        shows: impl Fn(&str) -> bool,
    ) -> Vec<Arc<Machine>> {
        let Some(flight) = self.0.get(set).filter(|flight| flight.awaits()) else {
            return listed;
        };
        let names = names(&listed);
        let unlisted = flight.made.iter();
        let unlisted = unlisted.filter(|(name, _)| !names.contains(name.as_str()) && !shows(name));
        let unlisted: Vec<Arc<Machine>> = unlisted.map(|(_, (one, _))| Arc::clone(one)).collect();
        listed.extend(unlisted);
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

    /// The names of Machines that were made and that the watch did not show when the set was last counted.
    pub fn made(&self, set: &str) -> Vec<String> {
        let flight = self.0.get(set).into_iter();
        flight
            .flat_map(|flight| flight.made.keys().cloned())
            .collect()
    }

    /// Forgets what the watch shows, and counts. `shows` has to be from before the Machines were listed: one that appears
    /// in between would be neither listed nor remembered.
    pub fn settle(
        &mut self,
        set: &str,
        watched: Vec<Arc<Machine>>,
        shows: impl Fn(&str) -> bool,
    ) -> Vec<Arc<Machine>> {
        if let Some(flight) = self.0.get_mut(set).filter(|flight| flight.awaits()) {
            let names = names(&watched);
            flight
                .made
                .retain(|name, _| !names.contains(name.as_str()) && !shows(name));
            let made = flight.made.values().map(|(machine, _)| machine);
            let staying: HashSet<&str> = made
                .chain(&watched)
                .filter(|machine| stays(machine))
                .filter_map(|machine| machine.metadata.uid.as_deref())
                .collect();
            flight
                .deleted
                .retain(|uid, _| staying.contains(uid.as_str()));
        }
        self.count(set, watched, shows)
    }

    /// Machines of the set that the watch should tell of by now, by name: those that were made, and those that were
    /// deleted.
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

    /// Machines that the watch must tell of, by name, and since when.
    fn awaited(&self, set: &str) -> impl Iterator<Item = (&String, Timestamp)> {
        self.0.get(set).into_iter().flat_map(|flight| {
            let made = flight.made.iter().map(|(name, (_, since))| (name, *since));
            let deleted = flight.deleted.values();
            made.chain(deleted.map(|deleted| (&deleted.name, deleted.since)))
        })
    }
}

/// Of a clock that was set back, what is further ahead than that is due at once.
fn is_overdue(since: Timestamp, now: Timestamp) -> bool {
    now >= after(since, UNSEEN) || since >= after(now, UNSEEN)
}

fn names(machines: &[Arc<Machine>]) -> HashSet<&str> {
    let names = machines.iter();
    names
        .filter_map(|machine| machine.metadata.name.as_deref())
        .collect()
}

fn stays(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
#[path = "in_flight_tests.rs"]
mod tests;
