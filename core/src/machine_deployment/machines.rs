//! What a MachineDeployment sees of the Machines of its sets, beside what these count.

use kube::ResourceExt;
use kube::core::{Selector, SelectorExt as _};

use super::observed::{Counts, ObservedSet};
use crate::api::Machine;
use crate::api::conditions::{ConditionType, is_true};
use crate::api::names::ANNOTATION_DELETE_MACHINE;
use crate::api::readable::unreadable;
use crate::machine_set::is_updating;
use crate::trouble::{self, Trouble};

fn has_ready_node(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| is_true(&status.conditions, ConditionType::Ready))
}

fn is_ready(machine: &Machine) -> bool {
    has_ready_node(machine) && !is_updating(machine)
}

/// As a set sees it, which deletes none that cannot be read.
fn is_marked(machine: &Machine) -> bool {
    machine
        .annotations()
        .contains_key(ANNOTATION_DELETE_MACHINE)
        && unreadable(machine).is_none()
}

impl ObservedSet {
    /// Counts the Machines that are this set's by now: one that moved to it is here before the set
    /// has counted it.
    pub fn count_owned<'a>(&mut self, machines: impl IntoIterator<Item = &'a Machine>) {
        let (mut all, mut ready) = (0, 0);
        for machine in self.staying(machines) {
            all += 1;
            ready += i32::from(is_ready(machine));
        }
        (self.owned, self.owned_ready) = (Some(all), Some(ready));
    }

    /// Counts those of its Machines that a user marked to go first.
    pub fn count_marked<'a>(&mut self, machines: impl IntoIterator<Item = &'a Machine>) {
        let marked = self.staying(machines).filter(|one| is_marked(one)).count();
        self.marked = i32::try_from(marked).unwrap_or(i32::MAX);
    }

    /// Those of its Machines that it counts: not what is in deletion, or has other labels.
    fn staying<'a>(
        &self,
        machines: impl IntoIterator<Item = &'a Machine>,
    ) -> impl Iterator<Item = &'a Machine> {
        let selector = Selector::try_from(self.selector.clone()).ok();
        machines.into_iter().filter(move |machine| {
            let is_its = selector
                .as_ref()
                .is_some_and(|selector| selector.matches(machine.labels()));
            is_its && machine.metadata.deletion_timestamp.is_none()
        })
    }

    /// Takes in what the worst of its Machines says: of those that stay, and of those that are
    /// being deleted and need somebody; else of all that are being deleted. Of those that stay,
    /// once all are ready, only what a person should look at: an update that fails leaves its
    /// Machine Ready.
    pub fn take_in<'a>(&mut self, machines: impl IntoIterator<Item = &'a Machine>) {
        let Counts { wanted, ready, .. } = self.counts;
        let is_short = self.counts.current != wanted || ready != wanted;
        let all = machines.into_iter();
        let (leaving, staying): (Vec<&Machine>, Vec<&Machine>) =
            all.partition(|machine| machine.metadata.deletion_timestamp.is_some());
        let troubles = |machines: Vec<&Machine>| -> Vec<Trouble> {
            machines.into_iter().filter_map(Trouble::of).collect()
        };
        let leaving = troubles(leaving);
        let staying = if is_short {
            troubles(staying)
        } else {
            let ready = staying.into_iter().filter(|one| has_ready_node(one));
            let mut ready = troubles(ready.collect());
            ready.retain(Trouble::is_warning);
            ready
        };
        let others = staying.iter().filter(|one| one.has_other_versions());
        self.other_versions = others.count();
        self.lacks_host = staying.iter().any(Trouble::lacks_host);
        let held = leaving.iter().filter(|trouble| trouble.is_warning());
        self.warns = staying.iter().chain(&leaving).any(Trouble::is_warning);
        let first = trouble::worst(staying.iter().chain(held));
        self.says = first.or_else(|| trouble::worst(&leaving));
    }
}
