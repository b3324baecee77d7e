//! A Host: reached, clean, free; and reset when its Machine has let go.

mod guard;
mod observe;
mod perform;
mod power;
mod released;
mod switch;

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use super::unreadable;
use crate::api::conditions::{ConditionType, Finding};
use crate::api::{Host, HostStatus};
use crate::core::host::plan::{self, Action, Plan};
use crate::core::host::{Observed, status};
use crate::engine::{Controller, Done, ReconcileError};
use crate::manager::Context;

/// The controller of Hosts.
pub struct Hosts {
    /// What controllers share.
    pub context: Arc<Context>,
}

impl Controller for Hosts {
    type Object = Host;
    type Observed = Observed;
    type Plan = Plan;
    type Status = HostStatus;

    const NAME: &'static str = "host";
    const EVENTS: &'static [ConditionType] = &[ConditionType::Available];

    async fn is_held(&self, host: &Host) -> bool {
        unreadable::holds(&self.context, host).await
    }

    async fn observe(&self, host: &Arc<Host>, now: Timestamp) -> Result<Observed, ReconcileError> {
        let observed = observe::observe(&self.context, host.clone(), now).await;
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
    ) -> Result<Done, ReconcileError> {
        perform::perform(&self.context, observed, action).await
    }

    fn reported(host: &Host) -> Option<&HostStatus> {
        host.status.as_ref()
    }

    fn status(host: &Host, observed: &Observed, plan: &Plan, _: Timestamp) -> Option<HostStatus> {
        status::status(host, observed, plan)
    }

    fn is_news(old: &HostStatus, new: &HostStatus, _: &Finding) -> bool {
        old.state != new.state
    }
}
