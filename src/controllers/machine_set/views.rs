//! The Machines of a set as it saw them last: a pass over thousands looks anew only at what has
//! changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kube::ResourceExt;

use tatara_core::api::Machine;
use tatara_core::machine_set::ObservedMachine;

/// What sets saw, by UID of the set and of the Machine.
#[derive(Default)]
pub struct Views(HashMap<String, HashMap<String, View>>);

/// A Machine, and what is seen of it. It is kept, so that no other one has its address.
struct View {
    of: Arc<Machine>,
    seen: Arc<ObservedMachine>,
}

impl Views {
    /// The Machines as the set of this UID sees them, in the same order.
    pub fn all(&mut self, set: &str, machines: &[Arc<Machine>]) -> Vec<Arc<ObservedMachine>> {
        let views = self.0.entry(set.to_owned()).or_default();
        let all = machines.iter().map(|machine| view(views, set, machine));
        let all = all.collect();
        if views.len() > machines.len() {
            let uids = machines.iter().filter_map(|one| one.metadata.uid.as_ref());
            let stay: HashSet<&String> = uids.collect();
            views.retain(|uid, _| stay.contains(uid));
        }
        all
    }

    /// Forgets a deleted set.
    pub fn forget(&mut self, set: &str) {
        self.0.remove(set);
    }
}

fn view(
    views: &mut HashMap<String, View>,
    set: &str,
    machine: &Arc<Machine>,
) -> Arc<ObservedMachine> {
    let known = machine.metadata.uid.as_ref().and_then(|uid| views.get(uid));
    if let Some(view) = known.filter(|view| Arc::ptr_eq(&view.of, machine)) {
        return Arc::clone(&view.seen);
    }
    let seen = Arc::new(ObservedMachine::from_api(machine, set));
    // one that was only asked for has no UID yet
    if let Some(uid) = machine.uid() {
        let view = View {
            of: Arc::clone(machine),
            seen: Arc::clone(&seen),
        };
        views.insert(uid, view);
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(name: &str, uid: &str) -> Arc<Machine> {
        let machine = serde_json::from_value(json!({
            "metadata": { "name": name, "uid": uid },
            "spec": { "providerSpec": {}, "versions": { "kubelet": "v1.36.3" } },
        }));
        Arc::new(machine.expect("a Machine"))
    }

    fn names(seen: &[Arc<ObservedMachine>]) -> Vec<&str> {
        seen.iter().map(|machine| machine.name.as_str()).collect()
    }

    #[test]
    fn what_has_not_changed_is_not_looked_at_again() {
        let mut views = Views::default();
        let (a, b) = (machine("a", "1"), machine("b", "2"));
        let first = views.all("set", &[a.clone(), b.clone()]);
        let changed = machine("c", "2");
        let second = views.all("set", &[a, changed]);
        assert!(Arc::ptr_eq(&first[0], &second[0]));
        assert_eq!(
            (names(&first), names(&second)),
            (vec!["a", "b"], vec!["a", "c"])
        );
    }

    #[test]
    fn nothing_is_kept_of_machines_and_sets_that_are_gone() {
        let mut views = Views::default();
        let all = [machine("a", "1"), machine("b", "2")];
        views.all("set", &all);
        views.all("set", &all[1..]);
        assert_eq!(views.0["set"].keys().collect::<Vec<_>>(), ["2"]);
        views.forget("set");
        assert!(views.0.is_empty());
    }
}
