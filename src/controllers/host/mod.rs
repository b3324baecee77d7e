//! A Host: reachable, clean, free; and reset after its Machine has released it.

mod guard;
mod observe;
mod perform;
mod power;
mod released;
mod switch;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::base::Base;
use super::control_plane::ControlPlanes;
use super::machine::turn::Turns;
use super::workloads::Workloads;
use crate::engine::{ActionOutcome, Controller, Engine, ReconcileError};
use crate::providers::ssh::target::place;
use crate::providers::{self, Bmcs, Follows, Installs};
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{Host, HostStatus};
use tatara_core::host::plan::{self, Action, Plan};
use tatara_core::host::{Observed, status};

/// The controller of Hosts.
pub struct Hosts {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The clusters that Hosts are part of.
    pub workloads: Arc<Workloads>,
    /// Hosts over SSH.
    pub hosts: Arc<providers::Hosts>,
    /// The control-plane turns.
    pub turns: Arc<Turns>,
    /// The etcds of control planes.
    pub control_planes: Arc<ControlPlanes>,
    /// Their BMCs.
    pub bmcs: Arc<Bmcs>,
    /// Dependencies of operating system installations.
    pub installs: Installs,
    /// Units of steps that are followed.
    pub follows: Arc<Follows>,
}

impl Hosts {
    /// Forgets a deleted Host.
    pub fn forget(&self, host: &Host) {
        self.hosts.forget(host);
        let uid = host.uid().unwrap_or_default();
        self.bmcs.forget(&uid);
        if let Some(media) = &self.installs.media {
            media.revoke(&uid);
        }
    }

    /// Retries failed operations of a Host at once.
    pub fn retry(&self, host: &Host) {
        self.hosts.retry(host);
        if let Some(consumer) = &host.spec.consumer_ref {
            self.follows.retry(&consumer.uid);
        }
    }

    /// Forgets what applied only to the former state of a Host.
    pub fn changed(&self, before: &Host, host: &Host, is_gone: bool) {
        if place(before) != place(host) {
            self.hosts.forget(before);
        }
        // the reset of a host may outlive the Machine that released it
        let consumer = |host: &Host| host.spec.consumer_ref.as_ref().map(|c| c.uid.clone());
        let has_let_go = is_gone || consumer(before) != consumer(host);
        if let Some(uid) = consumer(before).filter(|_| has_let_go)
            && self.base.stores().machines.by_uid(&uid).is_none()
        {
            self.follows.forget(&uid);
        }
    }
}

impl Controller for Hosts {
    type Object = Host;
    type Observed = Observed;
    type Plan = Plan;
    type Status = HostStatus;

    const NAME: &'static str = "host";
    const EVENTS: &'static [ConditionType] = &[ConditionType::Available];

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, host: &Host) -> bool {
        self.base.is_held(host).await
    }

    async fn observe(&self, host: &Arc<Host>, now: Timestamp) -> Result<Observed, ReconcileError> {
        let observed = observe::observe(self, host.clone(), now).await;
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
        perform::perform(self, observed, action).await
    }

    fn reported(host: &Host) -> Option<&HostStatus> {
        host.status.as_ref()
    }

    fn status(host: &Host, observed: &Observed, plan: &Plan, _: Timestamp) -> Option<HostStatus> {
        status::status(host, observed, plan)
    }

    fn holds_back(_: &Observed, old: &HostStatus, new: &HostStatus, _: &Plan) -> Duration {
        status::holds_back(old, new)
    }

    fn is_news(_: &Host, old: &HostStatus, new: &HostStatus, finding: &Finding) -> bool {
        status::is_news(old, new, finding)
    }
}
