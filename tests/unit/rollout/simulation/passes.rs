//! Passes of the two controllers over the World: their planners, and what stands around them: what they
//! have heard, what they read live, and in which order they write.

use std::sync::Arc;

use tatara_core::machine_set::live;

use super::faults::Ended;
use super::*;

impl World {
    /// What a pass over the deployment would do.
    pub fn deployment_plan(&self) -> deployment_plan::Plan {
        let (deployment, sets) = (self.heard_deployment(), self.heard_sets());
        deployment_plan::plan(&self.observe_deployment(deployment, sets), self.now)
    }

    /// What a pass over a set would do.
    pub fn set_plan(&self, at: usize) -> set_plan::Plan {
        let set = self.sets[at].clone();
        let machines = self.heard_machines();
        let shows = |name: &str| machines.iter().any(|machine| machine.name_any() == name);
        let uid = set.uid().expect("a UID");
        let counted = self.in_flight.count(&uid, machines.clone(), shows);
        set_plan::plan(&self.observe_set(&set, &counted), self.now)
    }

    /// One pass over the deployment. Whether it did something.
    pub fn reconcile_deployment(&mut self) -> bool {
        self.now = later(self.now, 1);
        let deployment = self.heard_deployment();
        // sets are written by the manager alone, and it knows what it wrote, unless an answer was lost
        let sets = if self.looked {
            &self.sets
        } else {
            self.heard_sets()
        };
        let mut observed = self.observe_deployment(deployment, sets);
        let mut plan = deployment_plan::plan(&observed, self.now);
        let is_known = self.looked && plan.only_grows(&observed);
        if !plan.actions.is_empty() && !is_known {
            self.looked = true;
            observed = self.observe_deployment(&self.deployment, &self.sets);
            plan = deployment_plan::plan(&observed, self.now);
        }
        let ended = self.carry_out_deployment(&observed, &plan);
        self.looked &= ended.is_ok();
        self.passes += 1;
        let wanted: Vec<i32> = self.sets.iter().map(|set| set.spec.replicas).collect();
        if self.sequence.last() != Some(&wanted) {
            self.sequence.push(wanted);
        }
        self.describe(&plan);
        self.measure();
        if let Err(Ended::Crash) = ended {
            self.restart();
        }
        !plan.actions.is_empty()
    }

    fn carry_out_deployment(
        &mut self,
        observed: &machine_deployment::Observed,
        plan: &deployment_plan::Plan,
    ) -> Result<(), Ended> {
        self.write(|world| {
            let status = world.deployment.status.get_or_insert_default();
            status.work_since = plan.work_since.map(Time);
        })?;
        for action in &plan.actions {
            self.write(|world| world.apply_deployment(observed, action))?;
        }
        Ok(())
    }

    fn apply_deployment(
        &mut self,
        observed: &machine_deployment::Observed,
        action: &deployment_plan::Action,
    ) {
        use deployment_plan::Action;
        match action {
            Action::AdoptSet { .. } | Action::AdoptMachine { .. } => {
                panic!("nothing here is an orphan")
            }
            Action::CreateSet(new) => {
                let mut set = deployment_plan::desired_set(observed, new);
                set.metadata.uid = Some(self.uid());
                set.metadata.creation_timestamp = Some(Time(self.now));
                set.metadata.generation = Some(1);
                set.spec.delete_policy = DeletePolicy::Oldest;
                self.steps.push((new.name.clone(), 0, new.replicas));
                self.sets.push(set);
            }
            Action::UpdateSet(update) => {
                let mut sets = self.sets.iter_mut();
                let set = sets.find(|set| set.name_any() == update.name);
                let set = set.expect("the set");
                let before = set.spec.clone();
                assert_eq!(set.uid().as_ref(), Some(&update.uid));
                if let Some((from, to)) = update.replicas {
                    assert_eq!(set.spec.replicas, from);
                    set.spec.replicas = to;
                    self.steps.push((update.name.clone(), from, to));
                }
                let annotations = set.annotations_mut();
                for (key, value) in &update.annotations {
                    match value {
                        Some(value) => annotations.insert(key.clone(), value.clone()),
                        None => annotations.remove(key),
                    };
                }
                set.labels_mut().extend(update.labels.clone());
                if let Some(template) = &update.template {
                    set.spec.template = (**template).clone();
                }
                set.spec.min_ready_seconds = update
                    .min_ready_seconds
                    .unwrap_or(set.spec.min_ready_seconds);
                if set.spec != before {
                    set.metadata.generation = set.metadata.generation.map(|number| number + 1);
                }
            }
            Action::DeleteSet { name, .. } => self.sets.retain(|set| set.name_any() != *name),
        }
    }

    /// One pass over a set that has been heard of, and its status. Whether it did something.
    pub fn reconcile_set(&mut self, at: usize) -> bool {
        let name = self.sets[at].name_any();
        let mut heard = self.heard_sets().iter();
        let Some(set) = heard.find(|set| set.name_any() == name).cloned() else {
            return false;
        };
        self.look_for_overdue(&set);
        let mut plan = self.watched(&set);
        let (mut acted, mut ended) = (false, Ok(()));
        if plan.1.actions.is_empty() {
            self.describe_set(at, &plan.1);
        } else {
            let (done, outcome) = self.carry_out_set(&set, &plan.0, &plan.1);
            (acted, ended) = (!done.actions.is_empty(), outcome);
            self.describe_set(at, &done);
            plan = self.watched(&set);
        }
        if !matches!(ended, Err(Ended::Crash)) {
            ended = self.report_set(&set, &plan.1);
        }
        self.measure();
        if let Err(Ended::Crash) = ended {
            self.restart();
        }
        acted
    }

    /// What no watch has told of for long is read live.
    fn look_for_overdue(&mut self, set: &MachineSet) {
        let uid = set.uid().expect("a UID");
        for name in self.in_flight.overdue(&uid, self.now) {
            let found = self.machines.iter().find(|m| m.name_any() == name);
            match found.cloned() {
                Some(machine) => self.in_flight.found(&uid, machine, self.now),
                None => self.in_flight.gone(&uid, &name, self.now),
            }
        }
    }

    /// What the controller of a set knows by what it has heard and done, and what it would do.
    fn watched(&mut self, set: &MachineSet) -> (machine_set::Observed, set_plan::Plan) {
        let machines = self.heard_machines();
        let shows = |name: &str| machines.iter().any(|machine| machine.name_any() == name);
        let uid = set.uid().expect("a UID");
        let counted = self.in_flight.settle(&uid, machines.clone(), shows);
        let observed = self.observe_set(set, &counted);
        let plan = set_plan::plan(&observed, self.now);
        (observed, plan)
    }

    /// Does a plan, or the one that takes its place after a look; says which it was.
    fn carry_out_set(
        &mut self,
        set: &MachineSet,
        observed: &machine_set::Observed,
        plan: &set_plan::Plan,
    ) -> (set_plan::Plan, Result<(), Ended>) {
        let uid = set.uid().expect("a UID");
        let (mut observed, mut plan) = (observed.clone(), plan.clone());
        let knows = self.in_flight.knows(&uid, look(set));
        if plan.needs_look(knows) {
            let mut sets = self.sets.iter();
            let Some(live) = sets.find(|live| live.uid() == set.uid()).cloned() else {
                return (set_plan::Plan::default(), Ok(()));
            };
            let machines: Vec<_> = self.machines.iter().cloned().map(Arc::new).collect();
            let heard = self.heard_machines();
            let is_new = |m: &&Arc<Machine>| {
                Owner::of(&m.metadata, &uid) == Owner::Ours
                    && m.metadata.deletion_timestamp.is_none()
                    && !heard.iter().any(|one| one.name_any() == m.name_any())
            };
            let new: Vec<_> = machines.iter().filter(is_new).cloned().collect();
            self.in_flight.listed(&uid, &new, self.now);
            self.in_flight.looked(&uid, look(&live));
            let shows = |name: &str| self.machines.iter().any(|m| m.name_any() == name);
            let counted = self.in_flight.count(&uid, machines, shows);
            observed = self.observe_set(&live, &counted);
            plan = set_plan::plan(&observed, self.now);
        }
        for action in &plan.actions {
            let ended = self.apply_set(&observed, action);
            if ended.is_err() {
                return (plan, ended);
            }
        }
        (plan, Ok(()))
    }

    fn apply_set(
        &mut self,
        observed: &machine_set::Observed,
        action: &set_plan::Action,
    ) -> Result<(), Ended> {
        use set_plan::Action;
        let (set, now) = (observed.uid.clone(), self.now);
        match action {
            Action::Adopt { .. } => panic!("nothing here is an orphan"),
            Action::UpdateInPlace { name, changes, .. } => self.write(|world| {
                let mut machines = world.machines.iter_mut();
                if let Some(machine) = machines.find(|machine| machine.name_any() == *name) {
                    machine.labels_mut().extend(changes.labels.clone());
                    let annotations = changes.annotations.clone();
                    machine.annotations_mut().extend(annotations);
                }
            }),
            Action::Delete { name, uid, .. } => {
                if !self.with_now(observed, uid, |now| live::may_go(observed, now)) {
                    return Err(Ended::Failed);
                }
                self.in_flight.deleting(&set, (name, uid), now);
                self.write(|world| {
                    if world.machines.iter().any(|m| m.name_any() == *name) {
                        world.delete(name);
                    }
                })
            }
            Action::Move { name, uid, to, .. } => {
                let mut sets = self.sets.iter();
                let to = sets.find(|set| set.uid().as_ref() == Some(to)).cloned();
                let moves = self.with_now(observed, uid, |now| {
                    live::destination(observed, now, to.as_ref()).cloned()
                });
                let to = moves.map_err(|_| Ended::Failed)?;
                self.write(|world| world.change_sets(name, &to))
            }
            Action::Create { name, .. } => {
                let machine = set_plan::desired_machine(observed, name);
                self.in_flight.making(&set, machine.clone(), now);
                self.write(|world| world.create(observed, machine))?;
                let made = self.machine(name).clone();
                self.in_flight.found(&set, made, now);
                Ok(())
            }
        }
    }

    /// Judges by what has been heard of a set and of one of its Machines.
    fn with_now<T>(
        &self,
        observed: &machine_set::Observed,
        uid: &str,
        judge: impl FnOnce(live::Now<'_>) -> T,
    ) -> T {
        let machines = self.heard_machines();
        let is = |machine: &&Arc<Machine>| machine.uid().as_deref() == Some(uid);
        let mut sets = self.heard_sets().iter();
        judge(live::Now {
            set: sets.find(|set| set.uid().as_ref() == Some(&observed.uid)),
            is_paused: false,
            machine: machines.iter().find(is).map(AsRef::as_ref),
        })
    }

    /// A Machine moves to a set. One that has gone since it was heard of does not: the API server says 404.
    fn change_sets(&mut self, name: &str, to: &MachineSet) {
        if !self.machines.iter().any(|m| m.name_any() == name) {
            return;
        }
        let target = self.observe_set(to, &[]);
        let now = self.now;
        let machine = self.machine(name);
        let mut changed = serde_json::to_value(&*machine).expect("JSON");
        merge(&mut changed, &set_plan::moved(machine, &target));
        *machine = serde_json::from_value(changed).expect("a Machine");
        self.moved.insert(name.to_owned(), now);
        self.pass_time(0);
    }

    fn create(&mut self, observed: &machine_set::Observed, mut machine: Machine) {
        let name = machine.name_any();
        if self.made.contains(&name) {
            self.wrong(format!("{name} was there before"));
        }
        self.made.push(name);
        machine.metadata.uid = Some(self.uid());
        machine.metadata.creation_timestamp = Some(Time(self.now));
        self.machines.push(machine);
        let at = self
            .sets
            .iter()
            .position(|set| set.name_any() == observed.name);
        let have = at.map_or(0, |at| self.machines_of(at).len());
        let wanted = usize::try_from(observed.replicas).unwrap_or_default();
        if have > wanted {
            self.wrong(format!(
                "{have} Machines made of {wanted} in {}",
                observed.name
            ));
        }
        self.pass_time(0);
    }

    fn report_set(&mut self, set: &MachineSet, plan: &set_plan::Plan) -> Result<(), Ended> {
        let mut status = MachineSetStatus {
            observed_generation: set.metadata.generation,
            ..MachineSetStatus::default()
        };
        plan.counts.write(&mut status);
        let mut findings = plan.findings.clone();
        findings.retain(|finding| finding.condition == ConditionType::ScalingUp);
        let (now, generation) = (self.now, set.metadata.generation);
        self.write(|world| {
            let mut sets = world.sets.iter_mut();
            if let Some(live) = sets.find(|live| live.uid() == set.uid()) {
                let before = live.status.take().unwrap_or_default().conditions;
                status.conditions = conditions::merge(&before, &findings, generation, now);
                live.status = Some(status);
            }
        })
    }

    pub(super) fn uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{}", self.uids)
    }
}

fn look(set: &MachineSet) -> Look {
    Look {
        generation: set.metadata.generation,
        lists: 0,
    }
}

/// A merge patch (RFC 7396).
fn merge(into: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *into = change.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in change {
        if value.is_null() {
            into.as_object_mut().expect("an object").remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}
