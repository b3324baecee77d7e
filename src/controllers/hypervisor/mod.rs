//! A Hypervisor: reachable, and its capacity. Its virtual machines are managed by the controller of
//! Machines.

mod observe;
mod perform;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::base::Base;
use crate::engine::{ActionOutcome, COUNTS_TOGETHER, Controller, Engine, ReconcileError, patch};
use crate::gateway::Registry;
use crate::providers::libvirt::Tries;
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{Hypervisor, HypervisorStatus};
use tatara_core::hypervisor::plan::{self, Action, Plan};
use tatara_core::hypervisor::{Observed, status};

/// The controller of Hypervisors.
pub struct Hypervisors {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// Their gateways.
    pub gateways: Arc<Registry>,
    /// Failed attempts at them.
    pub tries: Arc<Tries>,
}

impl Controller for Hypervisors {
    type Object = Hypervisor;
    type Observed = Observed;
    type Plan = Plan;
    type Status = HypervisorStatus;

    const NAME: &'static str = "hypervisor";
    const TOGETHER: Duration = COUNTS_TOGETHER;
    const EVENTS: &'static [ConditionType] = &[ConditionType::Available];

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, hypervisor: &Hypervisor) -> bool {
        self.base.is_held(hypervisor).await
    }

    async fn observe(
        &self,
        hypervisor: &Arc<Hypervisor>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        let observed = observe::observe(self, hypervisor.clone());
        Ok(observed)
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan {
        plan::plan(observed, now)
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        let hypervisor = observed.hypervisor.as_ref();
        match action {
            Action::Hold(held) => {
                patch::hold(&self.base.engine, hypervisor, *held).await?;
                Ok(ActionOutcome::Yes)
            }
            Action::End { uid, name } => perform::end(self, hypervisor, (uid, name)).await,
        }
    }

    fn reported(hypervisor: &Hypervisor) -> Option<&HypervisorStatus> {
        hypervisor.status.as_ref()
    }

    fn status(
        hypervisor: &Hypervisor,
        observed: &Observed,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<HypervisorStatus> {
        status::status(hypervisor, observed, plan)
    }

    fn is_news(
        _: &Hypervisor,
        old: &HypervisorStatus,
        new: &HypervisorStatus,
        _: &Finding,
    ) -> bool {
        old.state != new.state
    }
}
