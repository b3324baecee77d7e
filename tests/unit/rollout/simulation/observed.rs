//! What planners are given of the World.

use std::sync::Arc;

use tatara_core::api::conditions::Reason;
use tatara_core::api::machine_deployment::StrategyType;

use super::*;

impl World {
    pub(super) fn observe_deployment(
        &self,
        deployment: &MachineDeployment,
        sets: &[MachineSet],
    ) -> machine_deployment::Observed {
        let mut observed =
            machine_deployment::Observed::from_api(deployment, Ok(self.class.clone()), sets);
        let of = |uid: String| {
            let is_own = move |machine: &&Machine| {
                let mut owners = machine.owner_references().iter();
                owners.any(|owner| owner.uid == uid)
            };
            self.machines.iter().filter(is_own)
        };
        if observed.strategy.type_ == StrategyType::InPlace {
            // of moves, which the manager itself writes, it has the answers
            for set in &mut observed.sets {
                set.count_owned(of(set.uid.clone()));
            }
        }
        if observed.may_choose() {
            // read live before anything is done
            for set in &mut observed.sets {
                set.count_marked(of(set.uid.clone()));
            }
        }
        observed
    }

    pub(super) fn observe_set(
        &self,
        set: &MachineSet,
        machines: &[Arc<Machine>],
    ) -> machine_set::Observed {
        let provider_spec = set.spec.template.spec.provider_spec.value.clone();
        let versions = set.spec.template.spec.versions.clone();
        let kubelet = versions.unwrap_or_default().kubelet;
        let is_gated = |gated: &&String| **gated == kubelet;
        let gate = self.gated.as_ref().filter(is_gated).map(|_| Gate {
            reason: Reason::VersionSkew,
            message: "waiting for the control plane".into(),
        });
        let resolved = provider_spec.ok_or(Gate {
            reason: Reason::MachineClassMissing,
            message: String::new(),
        });
        let uid = set.uid().unwrap_or_default();
        let seen = |machine: &Arc<Machine>| {
            Arc::new(machine_set::ObservedMachine::from_api(machine, &uid))
        };
        let machines = machines.iter().map(seen).collect();
        let mut observed = machine_set::Observed::from_api(set, resolved, gate, machines);
        observed.seed[..4].copy_from_slice(&self.uids.to_be_bytes());
        observed
    }
}
