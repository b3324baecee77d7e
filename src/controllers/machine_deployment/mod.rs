//! Rolls MachineSets from one template to the next, and scales them.
//!
//! Decisions use MachineSets, and of Machines only how many there are, which are Ready, and which
//! are marked to go first. From Machines, it reports the condition of the worst one.

mod marks;
mod orphans;
mod perform;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::core::{Selector, SelectorExt as _};
use kube::{Api, ResourceExt};

use super::base::Base;
use super::live_read::Look;
use super::ownership::ProviderObject;
use super::{machine_class, paused, skew};
use crate::engine::{
    ActionOutcome, COUNTS_TOGETHER, Controller, Engine, LiveView, ReconcileError, patch,
};
use crate::store::{Item, Key};
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::machine_deployment::StrategyType;
use tatara_core::api::{MachineDeployment, MachineDeploymentStatus, MachineSet};
use tatara_core::machine_deployment::live::may_step;
use tatara_core::machine_deployment::plan::{self, Action, Plan};
use tatara_core::machine_deployment::{Observed, Orphan, status};
use tatara_core::machine_set::Owner;
use tatara_core::trouble;

/// The controller of MachineDeployments.
pub struct MachineDeployments {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The last live read of each, by its UID.
    looks: Mutex<HashMap<String, Look>>,
}

impl MachineDeployments {
    /// Starts without a live read.
    pub fn new(base: Arc<Base>) -> Self {
        Self {
            base,
            looks: Mutex::default(),
        }
    }

    /// Forgets what was read of a deployment.
    pub fn forget(&self, uid: &str) {
        self.looks().remove(uid);
    }

    fn looks(&self) -> MutexGuard<'_, HashMap<String, Look>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The facts for a pass over a MachineDeployment.
pub struct Sight {
    /// The input of the plan.
    pub observed: Observed,
    /// The sets of the namespace from which it was computed.
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
        let orphans = orphans::listed(self.base.stores(), deployment);
        Ok(sight(&self.base.engine, deployment, sets, orphans))
    }

    fn plan(sight: &Sight, now: Timestamp) -> Plan {
        plan::plan(&sight.observed, now)
    }

    /// Every decision depends on all sets, so the plan is repeated with objects read live. Not,
    /// once that was done, for more workers of the only set that has any: what this process wrote
    /// since is in the cache.
    async fn confirm(
        &self,
        deployment: &Arc<MachineDeployment>,
        known: &Sight,
        plan: &Plan,
        _: Timestamp,
    ) -> Result<Option<LiveView<Self>>, ReconcileError> {
        let uid = deployment.uid().unwrap_or_default();
        let sets = &self.base.stores().machine_sets;
        let begun = Look::begin(deployment.metadata.generation, sets);
        let before = self.looks().get(&uid).copied();
        if plan.only_grows(&known.observed) && before.is_some_and(|look| look.holds(begun)) {
            return Ok(None);
        }
        let (deployment, sets) = look(&self.base.engine, deployment).await?;
        let orphans = orphans::live(&self.base.engine, &deployment).await?;
        let generation = deployment.metadata.generation;
        self.looks().insert(
            uid,
            Look {
                generation,
                ..begun
            },
        );
        let mut sight = sight(&self.base.engine, &deployment, sets, orphans);
        marks::live(&self.base.engine, &mut sight.observed).await?;
        Ok(Some((deployment, sight)))
    }

    async fn perform(
        &self,
        sight: &Sight,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        let performed = perform::perform(&self.base.engine, sight, action).await;
        if performed.is_err() {
            // without an answer the write may have been executed
            self.forget(&sight.observed.uid);
        }
        performed.map(|()| ActionOutcome::Yes)
    }

    fn reported(deployment: &MachineDeployment) -> Option<&MachineDeploymentStatus> {
        deployment.status.as_ref()
    }

    fn holds_back(
        _: &Sight,
        old: &MachineDeploymentStatus,
        new: &MachineDeploymentStatus,
        plan: &Plan,
    ) -> Duration {
        status::holds_back(old, new, plan)
    }

    fn is_news(
        _: &MachineDeployment,
        old: &MachineDeploymentStatus,
        _: &MachineDeploymentStatus,
        finding: &Finding,
    ) -> bool {
        status::is_news(old, finding)
    }

    fn status(
        deployment: &MachineDeployment,
        _: &Sight,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<MachineDeploymentStatus> {
        Some(status::status(deployment, plan))
    }

    fn explain(
        deployment: &MachineDeployment,
        _: &Sight,
        status: &mut MachineDeploymentStatus,
        plan: &Plan,
        _: Timestamp,
    ) {
        status.whys = trouble::of_deployment(deployment, status, &plan.findings);
    }
}

/// The facts for a pass over a MachineDeployment, from these sets of its namespace.
fn sight(
    engine: &Engine,
    deployment: &MachineDeployment,
    sets: Vec<Arc<MachineSet>>,
    orphans: Vec<Orphan>,
) -> Sight {
    let namespace = deployment.namespace().unwrap_or_default();
    let template = &deployment.spec.template.spec;
    let usable = machine_class::usable(&engine.stores, &namespace, template);
    let problem = skew::problem(&engine.stores, deployment, &namespace);
    let usable = usable.and_then(|value| problem.map_or(Ok(value), Err));
    let mut observed = Observed::from_api(deployment, usable, sets.iter().map(AsRef::as_ref));
    observed.gate = skew::of_deployment(&engine.stores, deployment, &namespace);
    // the names of foreign sets remain taken
    let others = sets.iter().filter(|set| !set.is_ours(&engine.stores));
    let others: BTreeSet<String> = others.map(|set| set.name_any()).collect();
    observed.sets.retain(|set| !others.contains(&set.name));
    for set in &mut observed.sets {
        set.is_owner = engine.stores.machines.count(&Key::Owner(set.uid.clone())) > 0;
    }
    for set in observed.sets.iter_mut().filter(|set| set.is_active()) {
        let machines = engine.stores.machines.by(&Key::Troubled(set.uid.clone()));
        let ours = machines.iter().filter(|one| one.is_ours(&engine.stores));
        set.take_in(ours.map(AsRef::as_ref));
    }
    observed.orphans = orphans;
    if observed.strategy.type_ == StrategyType::InPlace || observed.is_control_plane() {
        for set in &mut observed.sets {
            let machines = engine.stores.machines.by(&Key::Owner(set.uid.clone()));
            let ours = machines.iter().filter(|one| one.is_ours(&engine.stores));
            set.count_owned(ours.map(AsRef::as_ref));
        }
    }
    marks::shown(&engine.stores, &mut observed);
    observed.paused_by = paused::paused_by(&engine.stores, deployment);
    Sight { observed, sets }
}

/// The deployment and the sets that its selector matches, read live. The other sets of its
/// namespace, whose names are in use, come from the watch's cache: each of many deployments would
/// read them all.
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
    // an invalid selector is reported by the plan, which then has no actions; an empty one matches
    // all
    let selector = Selector::try_from(deployment.spec.selector.clone()).unwrap_or_default();
    let api: Api<Item<MachineSet>> = Api::namespaced(engine.client.clone(), &namespace);
    let matched = ListParams::default().labels_from(&selector);
    let listed = api.list(&matched).await;
    let listed = listed.map_err(ReconcileError::api("list MachineSets"))?;
    let listed = listed.items.into_iter().map(|Item(set)| Arc::new(set));
    let mut sets: Vec<Arc<MachineSet>> = listed.collect();
    for set in &sets {
        engine.learn(set.as_ref());
    }
    let listed: BTreeSet<_> = sets.iter().map(|set| set.uid()).collect();
    let others = engine.stores.machine_sets.within(&namespace);
    let uid = deployment.uid().unwrap_or_default();
    for set in others {
        if listed.contains(&set.uid()) {
            continue;
        }
        if Owner::of(&set.metadata, &uid) == Owner::Ours {
            // its labels were changed, or it was deleted
            let live = api.get_opt(&set.name_any()).await;
            let live = live.map_err(ReconcileError::api("read a MachineSet"))?;
            let same = live.filter(|Item(live)| live.uid() == set.uid());
            sets.extend(same.map(|Item(live)| Arc::new(live)));
        } else if !selector.matches(set.labels()) {
            sets.push(set);
        }
    }
    if !may_step(&sets, &uid) {
        return Err(ReconcileError::Conflict {
            what: format!("read the MachineSets of {}", deployment.name_any()),
        });
    }
    Ok((Arc::new(deployment), sets))
}
