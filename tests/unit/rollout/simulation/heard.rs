//! What the controllers have heard of the World: kind by kind, in order, and late.

use std::collections::VecDeque;
use std::sync::Arc;

use super::*;

/// States of each kind that were told and not heard yet; the first is what the controllers go by.
#[derive(Clone, Debug)]
pub struct Heard {
    deployment: VecDeque<MachineDeployment>,
    sets: VecDeque<Vec<MachineSet>>,
    machines: VecDeque<Vec<Arc<Machine>>>,
}

fn advance<T>(states: &mut VecDeque<T>, changes: usize) {
    let passed = changes.min(states.len() - 1);
    drop(states.drain(..passed));
}

impl World {
    /// From now on the controllers hear of nothing before they are told to.
    pub fn lag(&mut self) {
        self.heard = Some(Heard {
            deployment: [self.deployment.clone()].into(),
            sets: [self.sets.clone()].into(),
            machines: [self.shared_machines()].into(),
        });
    }

    fn shared_machines(&self) -> Vec<Arc<Machine>> {
        self.machines.iter().cloned().map(Arc::new).collect()
    }

    /// Something changed: the watches will tell.
    pub fn told(&mut self) {
        let machines = self.shared_machines();
        let Some(heard) = &mut self.heard else { return };
        if heard.deployment.back() != Some(&self.deployment) {
            heard.deployment.push_back(self.deployment.clone());
        }
        if heard.sets.back() != Some(&self.sets) {
            heard.sets.push_back(self.sets.clone());
        }
        if heard.machines.back() != Some(&machines) {
            heard.machines.push_back(machines);
        }
    }

    /// One kind is heard of, so many changes further.
    pub fn hear(&mut self, kind: usize, changes: usize) {
        self.told();
        let Some(heard) = &mut self.heard else { return };
        match kind % 3 {
            0 => advance(&mut heard.deployment, changes),
            1 => advance(&mut heard.sets, changes),
            _ => {
                let passed = changes.min(heard.machines.len() - 1);
                for machine in heard.machines.iter().skip(1).take(passed).flatten() {
                    for owner in machine.owner_references() {
                        self.in_flight.settled(&owner.uid, &machine.name_any());
                    }
                }
                advance(&mut heard.machines, changes);
            }
        }
    }

    /// Everything is heard of.
    pub fn hear_all(&mut self) {
        for kind in 0..3 {
            self.hear(kind, usize::MAX);
        }
    }

    pub(super) fn heard_deployment(&self) -> &MachineDeployment {
        let heard = self
            .heard
            .as_ref()
            .and_then(|heard| heard.deployment.front());
        heard.unwrap_or(&self.deployment)
    }

    pub(super) fn heard_sets(&self) -> &[MachineSet] {
        let heard = self.heard.as_ref().and_then(|heard| heard.sets.front());
        heard.unwrap_or(&self.sets)
    }

    pub(super) fn heard_machines(&self) -> Vec<Arc<Machine>> {
        let heard = self.heard.as_ref().and_then(|heard| heard.machines.front());
        heard.map_or_else(|| self.shared_machines(), Clone::clone)
    }

    /// What a write must keep to: as many available Machines as there must be, or as there were, and no
    /// more Machines than there may be.
    pub(super) fn judge(&mut self, (before, machines): (usize, usize)) {
        let Some((minimum, maximum)) = self.bounds else {
            return;
        };
        let (available, total) = (self.available(), self.machines.len());
        if available < before.min(minimum) {
            self.wrong(format!(
                "{available} of {before} available, {minimum} must be"
            ));
        }
        if total > maximum.max(machines) {
            self.wrong(format!("{total} Machines, {maximum} may be"));
        }
    }

    pub(super) fn wrong(&mut self, what: String) {
        let _ = writeln!(self.transcript, "WRONG       {what}");
        self.wrongs.push(what);
    }
}
