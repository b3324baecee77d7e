//! Walks one machine through its life: claim → prepare → init or join → run → drain → release.

mod nodes;
mod observe;
mod outcomes;
mod perform;
pub mod turn;
mod units;
mod witness;

pub use observe::{cluster_endpoint, first_host, recorded_cluster, unlabelled};
pub use outcomes::Outcomes;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::{unreadable, whose};
use crate::api::conditions::{ConditionType, Finding};
use crate::api::{Machine, MachineStatus};
use crate::clock;
use crate::core::machine::plan::{self, Action, Plan};
use crate::core::machine::{Observed, status};
use crate::engine::{Controller, Done, ReconcileError};
use crate::manager::Context;

/// The controller of Machines.
pub struct Machines {
    /// What controllers share.
    pub context: Arc<Context>,
}

impl Controller for Machines {
    type Object = Machine;
    type Observed = Observed;
    type Plan = Plan;
    type Status = MachineStatus;

    const NAME: &'static str = "machine";
    const EVENTS: &'static [ConditionType] = status::EVENTS;

    async fn is_held(&self, machine: &Machine) -> bool {
        unreadable::holds(&self.context, machine).await
    }

    async fn is_ours(&self, machine: &Arc<Machine>) -> Result<bool, ReconcileError> {
        whose::is_ours(&self.context, machine).await
    }

    async fn observe(
        &self,
        machine: &Arc<Machine>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        observe::observe(&self.context, machine.clone()).await
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan {
        plan::plan(observed, now)
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<Done, ReconcileError> {
        perform::perform(&self.context, observed, action).await
    }

    fn learn(&self, observed: &Observed, plan: &mut Plan, found: Option<Finding>) -> bool {
        if plan.hands_off {
            return false;
        }
        let phase = plan.phase.as_str();
        let metrics = &self.context.metrics;
        // with its finalizer everything that is remembered of it is gone
        let is_last = |action: &Action| matches!(action, Action::RemoveFinalizer(_));
        if !plan.actions.iter().any(is_last) {
            metrics.entered(observed.uid(), phase, clock::now());
        }
        let outcomes = &self.context.outcomes;
        outcomes.remember(observed.uid(), &plan.actions, found.as_ref());
        plan.learn(observed, found)
    }

    fn announced(&self, observed: &Observed, plan: &Plan) -> Option<Plan> {
        let known = self.context.outcomes.of(observed.uid(), &plan.actions);
        let mut plan = plan.clone();
        plan.learn(observed, known).then_some(plan)
    }

    fn reported(machine: &Machine) -> Option<&MachineStatus> {
        machine.status.as_ref()
    }

    fn status(
        machine: &Machine,
        observed: &Observed,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<MachineStatus> {
        let old = machine.status.clone().unwrap_or_default();
        (!plan.hands_off).then(|| status::status(observed, plan, &old))
    }

    fn is_passing(old: &MachineStatus, new: &MachineStatus, plan: &Plan) -> bool {
        status::is_passing(old, new, plan)
    }

    fn stamp(status: &mut MachineStatus, now: Timestamp) {
        status.last_updated = Some(Time(now));
    }

    fn is_news(old: &MachineStatus, _: &MachineStatus, finding: &Finding) -> bool {
        status::is_news(old, finding)
    }

    fn written(
        &self,
        observed: &mut Observed,
        plan: &Plan,
        old: &MachineStatus,
        machine: &Arc<Machine>,
        _: Timestamp,
    ) {
        observed.machine = machine.clone();
        let phase = plan.phase.as_str();
        if old.phase.as_deref() != Some(phase) {
            tracing::info!(
                cluster = observed.marker.cluster,
                machine = observed.marker.machine,
                host = machine
                    .status
                    .as_ref()
                    .and_then(|status| status.host.as_deref()),
                phase,
                "entered a phase"
            );
        }
    }
}
