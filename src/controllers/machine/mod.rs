//! Reconciles a Machine through its phases: claim → prepare → init or join → run → drain → release.

mod etcd;
mod init_evidence;
mod nodes;
mod observe;
mod outcomes;
mod owned;
mod perform;
mod record;
pub mod settings;
pub mod turn;
mod units;
pub mod vacant;

pub use observe::{
    address_remedy, claimed_host, cluster_endpoint, look, recorded_cluster, runs, unlabelled,
};
pub use outcomes::Outcomes;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::base::Base;
use super::control_plane::ControlPlanes;
use super::workloads::Workloads;
use crate::clock;
use crate::engine::{ActionOutcome, Controller, Engine, ReconcileError};
use crate::memory::ByUid;
use crate::metrics::Metrics;
use crate::providers::{Follows, Hosts, Providers};
use crate::store::Key;
use crate::workload::drain_watch::DrainWatches;
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{Machine, MachineStatus};
use tatara_core::machine::plan::{self, Action, Plan};
use tatara_core::machine::{LastLook, Observed, reported, status};
use tatara_core::node::Identities;
use tatara_core::trouble;
use turn::Turns;

/// The controller of Machines.
pub struct Machines {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The clusters that they join.
    pub workloads: Arc<Workloads>,
    /// Hosts over SSH.
    pub hosts: Arc<Hosts>,
    /// The control-plane turns.
    pub turns: Arc<Turns>,
    /// The infrastructure providers.
    pub providers: Arc<Providers>,
    /// The etcds of control planes.
    pub control_planes: Arc<ControlPlanes>,
    /// Units of steps that are followed.
    pub follows: Arc<Follows>,
    /// Nodes that are being drained.
    pub drains: DrainWatches,
    /// Results of the last actions that were incomplete.
    pub outcomes: Outcomes,
    /// Bootstrap tokens that were created: the name of the Secret in the workload cluster.
    pub tokens: ByUid<String>,
    /// Identity of the unit of kind Address that was last seen to have succeeded, by UID of the
    /// Machine.
    pub addresses: ByUid<String>,
    /// What the host of a control plane showed when it was asked last, by UID of the Machine.
    pub looks: ByUid<LastLook>,
    /// Identities of units that were planned before.
    pub identities: Arc<Identities>,
    /// Metrics of the manager.
    pub metrics: Metrics,
}

impl Machines {
    /// Forgets a deleted Machine.
    pub fn forget(&self, uid: &str) {
        self.metrics.gone(uid);
        self.follows.forget(uid);
        self.outcomes.forget(uid);
        self.providers.forget(uid);
        self.hosts.sightings.forget_ended(uid);
        self.tokens.remove(uid);
        self.addresses.remove(uid);
        self.looks.remove(uid);
    }

    /// Retries failed operations of a Machine at once.
    pub fn retry(&self, machine: &Machine) {
        let uid = machine.uid().unwrap_or_default();
        self.follows.retry(&uid);
        self.providers.libvirt.tries.retry(&uid);
        // the controller of its Host retries the reset
        for host in self.base.stores().hosts.by(&Key::Claim(uid)) {
            self.base.wakers.hosts.wake_object(&host);
        }
    }
}

impl Controller for Machines {
    type Object = Machine;
    type Observed = Observed;
    type Plan = Plan;
    type Status = MachineStatus;

    const NAME: &'static str = "machine";
    const EVENTS: &'static [ConditionType] = status::EVENTS;

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, machine: &Machine) -> bool {
        self.base.is_held(machine).await
    }

    async fn is_ours(&self, machine: &Arc<Machine>) -> Result<bool, ReconcileError> {
        self.base.is_ours(machine).await
    }

    async fn observe(
        &self,
        machine: &Arc<Machine>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        observe::observe(self, machine.clone()).await
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

    fn after(&self, observed: &Observed, plan: &Plan, now: Timestamp) -> Option<(Observed, Plan)> {
        let answered = |after: &mut Observed| {
            let uid = after.marker.uid.clone();
            if let Some(cluster) = after.cluster.as_mut() {
                // as they answered meanwhile
                let known = self.workloads.known.get(&cluster.uid);
                let asked = known.components.get(&uid).cloned();
                cluster.components = asked.or(cluster.components.take());
            }
        };
        plan::after(observed, plan, answered, now)
    }

    fn learn(&self, observed: &Observed, plan: &mut Plan, found: Option<Finding>) -> bool {
        if plan.hands_off {
            return false;
        }
        // removing the finalizer also cleared the memory of this Machine
        let stays = !plan.actions.iter().any(Self::ends);
        if let Some(stage) = plan.stage.filter(|_| stays) {
            let metrics = &self.metrics;
            metrics.entered(observed.uid(), stage.as_str(), clock::now());
        }
        let outcomes = &self.outcomes;
        outcomes.remember(observed.uid(), &plan.actions, found.as_ref());
        plan.learn(observed, found)
    }

    fn announced(&self, observed: &Observed, plan: &Plan) -> Option<Plan> {
        let known = self.outcomes.of(observed.uid(), &plan.actions);
        let mut plan = plan.clone();
        plan.learn(observed, known).then_some(plan)
    }

    fn ends(action: &Action) -> bool {
        matches!(action, Action::RemoveFinalizer(_))
    }

    fn reported(machine: &Machine) -> Option<&MachineStatus> {
        machine.status.as_ref()
    }

    fn status(
        machine: &Machine,
        observed: &Observed,
        plan: &Plan,
        now: Timestamp,
    ) -> Option<MachineStatus> {
        let old = machine.status.clone().unwrap_or_default();
        (!plan.hands_off).then(|| status::status(observed, plan, &old, now))
    }

    fn holds_back(
        observed: &Observed,
        old: &MachineStatus,
        new: &MachineStatus,
        _: &Plan,
    ) -> Duration {
        status::holds_back(observed.machine.is_control_plane(), old, new)
    }

    fn explain(
        machine: &Machine,
        observed: &Observed,
        new: &mut MachineStatus,
        plan: &Plan,
        now: Timestamp,
    ) {
        status::record(observed, new, plan, now);
        new.whys = trouble::of_machine(machine, new, &plan.findings);
    }

    fn stamp(status: &mut MachineStatus, now: Timestamp) {
        reported::stamp(status, now);
    }

    fn is_news(_: &Machine, old: &MachineStatus, _: &MachineStatus, finding: &Finding) -> bool {
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
