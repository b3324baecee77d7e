//! Steps MachineSets from one template to the next, and scales them.
//!
//! It decides by MachineSets only, never past them. Of Machines it repeats what the worst of them says.

mod perform;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::base::Base;
use super::whose::ProviderObject;
use super::{machine_class, paused};
use crate::api::conditions::ConditionType;
use crate::api::readable::unreadable;
use crate::api::{MachineDeployment, MachineDeploymentStatus, MachineSet};
use crate::core::machine_deployment::plan::{self, Action, Plan};
use crate::core::machine_deployment::{Observed, TemplateProblem, status};
use crate::core::machine_set::Owner;
use crate::engine::{
    ActionOutcome, COUNTS_TOGETHER, Controller, Engine, LiveView, ReconcileError, patch,
};
use crate::store::{Item, Key};

/// The controller of MachineDeployments.
pub struct MachineDeployments {
    /// What all controllers share.
    pub base: Arc<Base>,
}

/// What a pass over a MachineDeployment knows.
pub struct Sight {
    /// As plans read it.
    pub observed: Observed,
    /// The sets of its namespace that it comes from.
    pub sets: Vec<Arc<MachineSet>>,
}

impl Controller for MachineDeployments {
    type Object = MachineDeployment;
    type Observed = Sight;
    type Plan = Plan;
    type Status = MachineDeploymentStatus;

    const NAME: &'static str = "machine-deployment";
    const TOGETHER: Duration = COUNTS_TOGETHER;
    const EVENTS: &'static [ConditionType] = &[ConditionType::Ready];

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, deployment: &MachineDeployment) -> bool {
        self.base.is_held(deployment).await
    }

    async fn is_ours(&self, deployment: &Arc<MachineDeployment>) -> Result<bool, ReconcileError> {
        self.base.is_ours(deployment).await
    }

    async fn observe(
        &self,
        deployment: &Arc<MachineDeployment>,
        _: Timestamp,
    ) -> Result<Sight, ReconcileError> {
        let namespace = deployment.namespace().unwrap_or_default();
        let sets = self.base.stores().machine_sets.within(&namespace);
        Ok(sight(&self.base.engine, deployment, sets))
    }

    fn plan(sight: &Sight, now: Timestamp) -> Plan {
        plan::plan(&sight.observed, now)
    }

    /// What a plan decides depends on all sets at once, so it is made again by what there is at this moment.
    async fn confirm(
        &self,
        deployment: &Arc<MachineDeployment>,
        _: &Sight,
        _: &Plan,
        _: Timestamp,
    ) -> Result<Option<LiveView<Self>>, ReconcileError> {
        let (deployment, sets) = look(&self.base.engine, deployment).await?;
        let sight = sight(&self.base.engine, &deployment, sets);
        Ok(Some((deployment, sight)))
    }

    async fn perform(
        &self,
        sight: &Sight,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        perform::perform(&self.base.engine, sight, action).await?;
        Ok(ActionOutcome::Yes)
    }

    fn reported(deployment: &MachineDeployment) -> Option<&MachineDeploymentStatus> {
        deployment.status.as_ref()
    }

    fn is_passing(
        old: &MachineDeploymentStatus,
        new: &MachineDeploymentStatus,
        plan: &Plan,
    ) -> bool {
        status::is_passing(old, new, plan)
    }

    fn status(
        deployment: &MachineDeployment,
        _: &Sight,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<MachineDeploymentStatus> {
        Some(status::status(deployment, plan))
    }
}

/// What a pass over a MachineDeployment knows, of these sets of its namespace.
fn sight(engine: &Engine, deployment: &MachineDeployment, sets: Vec<Arc<MachineSet>>) -> Sight {
    let namespace = deployment.namespace().unwrap_or_default();
    let template = &deployment.spec.template.spec;
    let usable = machine_class::usable(&engine.stores, &namespace, template);
    let usable = usable.map_err(|problem| TemplateProblem {
        reason: problem.reason,
        message: problem.message,
    });
    let mut observed = Observed::from_api(deployment, usable, sets.iter().map(AsRef::as_ref));
    // the names of others stay taken
    let others = sets.iter().filter(|set| !set.is_ours(&engine.stores));
    let others: BTreeSet<String> = others.map(|set| set.name_any()).collect();
    observed.sets.retain(|set| !others.contains(&set.name));
    for set in observed.sets.iter_mut().filter(|set| set.is_active()) {
        let machines = engine.stores.machines.by(&Key::Owner(set.uid.clone()));
        let ours = machines.iter().filter(|one| one.is_ours(&engine.stores));
        set.take_in(ours.map(AsRef::as_ref));
    }
    observed.paused_by = paused::paused_by(&engine.stores, deployment);
    Sight { observed, sets }
}

/// The deployment and the sets of its namespace as the API server has them now.
async fn look(
    engine: &Engine,
    deployment: &MachineDeployment,
) -> Result<(Arc<MachineDeployment>, Vec<Arc<MachineSet>>), ReconcileError> {
    let deployment = patch::live(engine, deployment).await?;
    if !deployment.is_ours(&engine.stores) {
        return Err(ReconcileError::Conflict {
            what: format!("step MachineDeployment {}", deployment.name_any()),
        });
    }
    let namespace = deployment.namespace().unwrap_or_default();
    let sets: Api<Item<MachineSet>> = Api::namespaced(engine.client.clone(), &namespace);
    let sets = sets.list(&ListParams::default()).await;
    let sets = sets.map_err(ReconcileError::api("list MachineSets"))?;
    let sets = sets.items.into_iter().map(|Item(set)| Arc::new(set));
    let sets: Vec<Arc<MachineSet>> = sets.collect();
    let uid = deployment.uid().unwrap_or_default();
    let is_ours = |set: &&Arc<MachineSet>| Owner::of(&set.metadata, &uid) == Owner::Ours;
    if sets
        .iter()
        .filter(is_ours)
        .any(|set| unreadable(set.as_ref()).is_some())
    {
        // the watch shows it in a moment, and the next pass waits for it
        return Err(ReconcileError::Conflict {
            what: format!("read the MachineSets of {}", deployment.name_any()),
        });
    }
    Ok((Arc::new(deployment), sets))
}
