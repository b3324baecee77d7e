//! Counts Machines: keeps as many of one template as its MachineSet asks for, and nothing more.

mod in_flight;
mod live;
mod observe;
mod perform;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

pub use in_flight::InFlight;

use super::{unreadable, whose};
use crate::api::conditions::ConditionType;
use crate::api::{MachineSet, MachineSetStatus};
use crate::core::machine_set::plan::{self, Action, Plan};
use crate::core::machine_set::{Observed, status};
use crate::engine::{COUNTS_TOGETHER, Confirmed, Controller, Done, ReconcileError};
use crate::manager::Context;

/// The controller of MachineSets.
pub struct MachineSets {
    /// What controllers share.
    pub context: Arc<Context>,
}

impl Controller for MachineSets {
    type Object = MachineSet;
    type Observed = Observed;
    type Plan = Plan;
    type Status = MachineSetStatus;

    const NAME: &'static str = "machine-set";
    const TOGETHER: Duration = COUNTS_TOGETHER;
    const EVENTS: &'static [ConditionType] = &[ConditionType::MachinesReady];

    async fn is_held(&self, set: &MachineSet) -> bool {
        unreadable::holds(&self.context, set).await
    }

    async fn is_ours(&self, set: &Arc<MachineSet>) -> Result<bool, ReconcileError> {
        whose::is_ours(&self.context, set).await
    }

    async fn observe(
        &self,
        set: &Arc<MachineSet>,
        now: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        live::look_for_overdue(&self.context, set, now).await?;
        observe::observe(&self.context, set, now)
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
    ) -> Result<Option<Confirmed<Self>>, ReconcileError> {
        let generation = set.metadata.generation;
        let knows = live::in_flight(&self.context).knows(&observed.uid, generation);
        if !plan.needs_look(knows) {
            return Ok(None);
        }
        let (set, observed) = live::look(&self.context, set, plan, now).await?;
        Ok(Some((set, observed)))
    }

    fn is_independent(action: &Action) -> bool {
        matches!(action, Action::Create { .. } | Action::Delete { .. })
    }

    fn may_wait(action: &Action) -> bool {
        matches!(action, Action::Create { .. })
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<Done, ReconcileError> {
        perform::perform(&self.context, observed, action).await
    }

    fn reported(set: &MachineSet) -> Option<&MachineSetStatus> {
        set.status.as_ref()
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
