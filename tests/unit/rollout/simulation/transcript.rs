//! What a World has counted and written down.

use super::*;
use tatara_core::api::conditions::ConditionType;

impl World {
    /// Machines that are available and not in deletion.
    pub fn available(&self) -> usize {
        let live = self
            .machines
            .iter()
            .filter(|machine| machine.metadata.deletion_timestamp.is_none());
        live.filter(|machine| is_ready(machine)).count()
    }

    /// Machines of the wanted version and provider spec.
    pub fn up_to_date(&self) -> usize {
        let wanted = self.deployment.spec.template.spec.versions.as_ref();
        let same = |machine: &&Machine| {
            machine.spec.versions.as_ref() == wanted
                && machine.spec.provider_spec.value.as_ref() == Some(&self.class)
        };
        self.machines.iter().filter(same).count()
    }

    /// Names of the Machines of a set that are not in deletion.
    pub fn machines_of(&self, at: usize) -> Vec<String> {
        let uid = self.sets[at].uid();
        let own = self.machines.iter().filter(|machine| {
            machine
                .owner_references()
                .iter()
                .any(|owner| Some(&owner.uid) == uid.as_ref())
                && machine.metadata.deletion_timestamp.is_none()
        });
        own.map(ResourceExt::name_any).collect()
    }

    pub(super) fn measure(&mut self) {
        self.fewest_available = self.fewest_available.min(self.available());
        self.most_machines = self.most_machines.max(self.machines.len());
    }

    pub(super) fn describe(&mut self, plan: &deployment_plan::Plan) {
        let finding = plan
            .findings
            .iter()
            .find(|f| f.condition == ConditionType::Progressing)
            .expect("Progressing");
        let mut text = format!(
            "{:?}, {}: {}",
            plan.phase,
            finding.reason(),
            finding.message()
        );
        for set in &self.sets {
            text = text.replace(&set.name_any(), &alias(self, &set.name_any()));
        }
        let _ = writeln!(self.transcript, "deployment  {text}");
    }

    pub(super) fn describe_set(&mut self, at: usize, plan: &set_plan::Plan) {
        let name = self.sets[at].name_any();
        let short = |machine: &str| {
            let mut own = self.made.iter().filter(|made| made.starts_with(&name));
            let number = own.position(|made| made == machine);
            number.map_or_else(|| "?".into(), |number| format!("ms{}-{number}", at + 1))
        };
        let count = |wanted: fn(&set_plan::Action) -> Option<&String>| {
            let names: Vec<_> = plan
                .actions
                .iter()
                .filter_map(wanted)
                .map(|name| short(name))
                .collect();
            names.join(" ")
        };
        let made = count(|action| match action {
            set_plan::Action::Create { name, .. } => Some(name),
            _ => None,
        });
        let deleted = count(|action| match action {
            set_plan::Action::Delete { name, .. } => Some(name),
            _ => None,
        });
        let moved = count(|action| match action {
            set_plan::Action::Move { name, .. } => Some(name),
            _ => None,
        });
        let mut text = format!("{} Machines", self.machines_of(at).len());
        for (names, what) in [(made, "made"), (deleted, "deleted"), (moved, "moved")] {
            if !names.is_empty() {
                let _ = write!(text, ", {what} {names}");
            }
        }
        let _ = writeln!(self.transcript, "ms{:<10}{text}", at + 1);
    }

    /// The numbers of Machines wanted in each set, step by step, as `3/1 → 2/1 → …`.
    pub fn sequence(&self) -> String {
        let steps: Vec<String> = self
            .sequence
            .iter()
            .map(|wanted| {
                wanted
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("/")
            })
            .collect();
        steps.join(" → ")
    }
}
