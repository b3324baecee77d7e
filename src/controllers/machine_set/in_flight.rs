//! What this process did to the Machines of its sets and the watch may not show yet.
//!
//! Only the process that leads makes and deletes Machines for sets. Were its sets counted by what is
//! listed alone, a watch that lags would have it make a Machine twice, or take one that leaves for one
//! that stays. What a process before it did is listed live, before the first Machine is made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::plan::after;
use crate::api::Machine;

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
    /// By UID: when it was deleted.
    deleted: HashMap<String, Timestamp>,
    /// The generation of the set when it was last read live, to act by it.
    generation: Option<i64>,
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

    /// A Machine is there. It may have been seen, and even been seen to go, before the answer came.
    pub fn made(&mut self, set: &str, machine: Machine, now: Timestamp) {
        let flight = self.0.get_mut(set);
        if let Some(made) = flight.and_then(|flight| flight.made.get_mut(&machine.name_any())) {
            *made = (Arc::new(machine), now);
        }
    }

    /// The Machine of this name was not made after all, or is gone, or the watch tells of it from now on.
    pub fn settled(&mut self, set: &str, name: &str) {
        if let Some(flight) = self.0.get_mut(set) {
            flight.made.remove(name);
        }
    }

    /// The Machine with this UID was deleted.
    pub fn deleted(&mut self, set: &str, uid: &str, now: Timestamp) {
        let flight = self.0.entry(set.to_owned()).or_default();
        flight.deleted.insert(uid.to_owned(), now);
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
        let Some(flight) = self.0.get(set) else {
            return listed;
        };
        let unlisted = flight.made.iter().filter(|(name, _)| !shows(name));
        listed.extend(unlisted.map(|(_, (machine, _))| machine.clone()));
        for machine in &mut listed {
            let at = machine.uid().and_then(|uid| flight.deleted.get(&uid));
            if let Some(at) = at.filter(|_| stays(machine)) {
                Arc::make_mut(machine).metadata.deletion_timestamp = Some(Time(*at));
            }
        }
        listed
    }

    /// Forgets what the watch shows by now, and counts.
    pub fn settle(
        &mut self,
        set: &str,
        watched: Vec<Arc<Machine>>,
        shows: impl Fn(&str) -> bool,
    ) -> Vec<Arc<Machine>> {
        if let Some(flight) = self.0.get_mut(set) {
            flight.made.retain(|name, _| !shows(name));
            let made = flight.made.values().map(|(machine, _)| machine);
            let staying: HashSet<String> = made
                .chain(&watched)
                .filter(|machine| stays(machine))
                .filter_map(|machine| machine.uid())
                .collect();
            flight.deleted.retain(|uid, _| staying.contains(uid));
        }
        self.count(set, watched, shows)
    }

    /// Machines of the set that should have been listed by now, by name.
    pub fn overdue(&self, set: &str, now: Timestamp) -> Vec<String> {
        let made = self.0.get(set).into_iter().flat_map(|flight| &flight.made);
        made.filter(|(_, (_, since))| now >= after(*since, UNSEEN))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// When the next Machine of the set is overdue.
    pub fn due(&self, set: &str) -> Option<Timestamp> {
        let made = self.0.get(set)?.made.values();
        made.map(|(_, since)| after(*since, UNSEEN)).min()
    }
}

fn stays(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
#[path = "in_flight_tests.rs"]
mod tests;
