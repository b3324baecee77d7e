//! Keeps the number of Machines of one template that its MachineSet specifies.

mod in_flight;
mod live;
mod observe;
mod perform;
mod views;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

pub use in_flight::InFlight;
use views::Views;

use super::base::Base;
use super::live_read::Look;
use crate::engine::{ActionOutcome, COUNTS_TOGETHER, Controller, Engine, LiveView, ReconcileError};
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{MachineSet, MachineSetStatus};
use tatara_core::machine_set::plan::{self, Action, Plan};
use tatara_core::machine_set::{Observed, status};

/// The controller of MachineSets.
pub struct MachineSets {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    in_flight: Mutex<InFlight>,
    views: Mutex<Views>,
}

impl MachineSets {
    /// Starts without recorded writes.
    pub fn new(base: Arc<Base>) -> Self {
        Self {
            base,
            in_flight: Mutex::default(),
            views: Mutex::default(),
        }
    }

    /// Writes of this process to Machines that the watch may not show yet.
    pub fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn views(&self) -> MutexGuard<'_, Views> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a deleted set.
    pub fn forget(&self, set: &str) {
        self.in_flight().forget(set);
        self.views().forget(set);
    }
}

/// For this time a pass creates Machines. Their set reports after it, for its status to be less
/// than 2 s old.
const CREATES_FOR: Duration = Duration::from_millis(350);
/// For this time a pass deletes Machines. Longer, since all Machines are listed live before each;
/// the number that is wanted may change meanwhile.
const DELETES_FOR: Duration = Duration::from_secs(10);

impl Controller for MachineSets {
    type Object = MachineSet;
    type Observed = Observed;
    type Plan = Plan;
    type Status = MachineSetStatus;

    const NAME: &'static str = "machine-set";
    const TOGETHER: Duration = COUNTS_TOGETHER;
    const EVENTS: &'static [ConditionType] = &[ConditionType::MachinesReady];

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, set: &MachineSet) -> bool {
        self.base.is_held(set).await
    }

    async fn is_ours(&self, set: &Arc<MachineSet>) -> Result<bool, ReconcileError> {
        self.base.is_ours(set).await
    }

    async fn observe(
        &self,
        set: &Arc<MachineSet>,
        now: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        let uid = set.uid().unwrap_or_default();
        let is_overdue = !self.in_flight().overdue(&uid, now).is_empty();
        if is_overdue {
            // not what the watch has shown meanwhile: a pass may have taken longer than that
            drop(observe::listed(self, set));
            live::look_for_overdue(self, set, now).await?;
        }
        observe::observe(self, set, now)
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan {
        plan::plan(observed, now)
    }

    async fn confirm(
        &self,
        set: &Arc<MachineSet>,
        observed: &Observed,
        plan: &Plan,
        now: Timestamp,
    ) -> Result<Option<LiveView<Self>>, ReconcileError> {
        let now_seen = Look::begin(set.metadata.generation, &self.base.stores().machines);
        let knows = self.in_flight().knows(&observed.uid, now_seen);
        if !plan.needs_look(knows) {
            return Ok(None);
        }
        let (set, observed) = live::look(self, set, plan, now).await?;
        Ok(Some((set, observed)))
    }

    fn is_independent(action: &Action) -> bool {
        matches!(
            action,
            Action::Create { .. } | Action::Delete { .. } | Action::Move { .. }
        )
    }

    fn waits_after(action: &Action) -> Option<Duration> {
        match action {
            Action::Create { .. } => Some(CREATES_FOR),
            Action::Delete { .. } => Some(DELETES_FOR),
            Action::Adopt { .. } | Action::UpdateInPlace { .. } | Action::Move { .. } => None,
        }
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        perform::perform(self, observed, action).await
    }

    fn reported(set: &MachineSet) -> Option<&MachineSetStatus> {
        set.status.as_ref()
    }

    fn holds_back(
        _: &Observed,
        old: &MachineSetStatus,
        new: &MachineSetStatus,
        plan: &Plan,
    ) -> Duration {
        status::holds_back(old, new, plan)
    }

    fn is_news(
        set: &MachineSet,
        old: &MachineSetStatus,
        _: &MachineSetStatus,
        finding: &Finding,
    ) -> bool {
        let is_owned = set
            .owner_references()
            .iter()
            .any(|o| o.controller == Some(true));
        status::is_news(old, finding, is_owned)
    }

    fn status(
        set: &MachineSet,
        _: &Observed,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<MachineSetStatus> {
        Some(status::status(set, plan))
    }
}
