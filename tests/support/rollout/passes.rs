//! Passes of the two planners over the World.

use super::*;

impl World {
    /// What a pass over the deployment would do.
    pub fn deployment_plan(&self) -> deployment_plan::Plan {
        deployment_plan::plan(&self.observe_deployment(), self.now)
    }

    pub(super) fn observe_deployment(&self) -> machine_deployment::Observed {
        machine_deployment::Observed::from_api(&self.deployment, Ok(self.class.clone()), &self.sets)
    }

    pub(super) fn observe_set(&self, at: usize) -> machine_set::Observed {
        let set = &self.sets[at];
        let provider_spec = set.spec.template.spec.provider_spec.value.clone();
        let kubelet = set
            .spec
            .template
            .spec
            .versions
            .clone()
            .unwrap_or_default()
            .kubelet;
        let gate = self
            .gated
            .as_ref()
            .filter(|gated| **gated == kubelet)
            .map(|_| Gate {
                reason: "VersionSkew",
                message: "waiting for the control plane".into(),
            });
        let resolved = provider_spec.ok_or(Gate {
            reason: "Missing",
            message: String::new(),
        });
        machine_set::Observed::from_api(set, resolved, gate, &self.machines)
    }

    /// What a pass over a set would do.
    pub fn set_plan(&self, at: usize) -> set_plan::Plan {
        set_plan::plan(&self.observe_set(at), self.now)
    }

    /// One pass over the deployment. Whether it did something.
    pub fn reconcile_deployment(&mut self) -> bool {
        self.now = later(self.now, 1);
        let observed = self.observe_deployment();
        let plan = deployment_plan::plan(&observed, self.now);
        for action in &plan.actions {
            self.apply_deployment(&observed, action);
        }
        self.passes += 1;
        let wanted: Vec<i32> = self.sets.iter().map(|set| set.spec.replicas).collect();
        if self.sequence.last() != Some(&wanted) {
            self.sequence.push(wanted);
        }
        self.describe(&plan);
        self.measure();
        !plan.actions.is_empty()
    }

    pub(super) fn apply_deployment(
        &mut self,
        observed: &machine_deployment::Observed,
        action: &deployment_plan::Action,
    ) {
        use deployment_plan::Action;
        match action {
            Action::AdoptSet { .. } => panic!("nothing here is an orphan"),
            Action::CreateSet(new) => {
                let mut set = deployment_plan::desired_set(observed, new);
                set.metadata.uid = Some(self.uid());
                set.metadata.creation_timestamp = Some(Time(self.now));
                set.spec.delete_policy = DeletePolicy::Oldest;
                self.steps.push((new.name.clone(), 0, new.replicas));
                self.sets.push(set);
            }
            Action::UpdateSet(update) => {
                let set = self
                    .sets
                    .iter_mut()
                    .find(|set| set.name_any() == update.name)
                    .expect("the set");
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
            }
            Action::DeleteSet { name, .. } => self.sets.retain(|set| set.name_any() != *name),
        }
    }

    /// One pass over a set, and its status. Whether it did something.
    pub fn reconcile_set(&mut self, at: usize) -> bool {
        let observed = self.observe_set(at);
        let plan = set_plan::plan(&observed, self.now);
        for action in &plan.actions {
            self.apply_set(&observed, action);
        }
        let counts = self.set_plan(at).counts;
        let mut status = MachineSetStatus::default();
        counts.write(&mut status);
        self.sets[at].status = Some(status);
        self.describe_set(at, &plan);
        self.measure();
        !plan.actions.is_empty()
    }

    pub(super) fn apply_set(
        &mut self,
        observed: &machine_set::Observed,
        action: &set_plan::Action,
    ) {
        use set_plan::Action;
        match action {
            Action::Adopt { .. } => panic!("nothing here is an orphan"),
            Action::UpdateInPlace { name, changes, .. } => {
                let machine = self.machine(name);
                machine.labels_mut().extend(changes.labels.clone());
                machine
                    .annotations_mut()
                    .extend(changes.annotations.clone());
            }
            Action::Delete { name, .. } => self.delete(&name.clone()),
            Action::Create { name, .. } => {
                assert!(
                    self.machines
                        .iter()
                        .all(|machine| machine.name_any() != *name),
                    "{name} is there"
                );
                let mut machine = set_plan::desired_machine(observed, name);
                machine.metadata.uid = Some(self.uid());
                machine.metadata.creation_timestamp = Some(Time(self.now));
                self.machines.push(machine);
            }
        }
        self.pass_time(0);
    }

    pub(super) fn uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{}", self.uids)
    }
}
