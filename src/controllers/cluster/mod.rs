//! A Cluster: certificates → endpoint → control plane → kubeconfig → addons → health; and its
//! deletion.

mod addons;
mod names;
mod observe;
mod orphaned_members;
mod perform;
mod probe;
mod route;
mod secrets;
mod seen;
mod settings;
mod sources;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::base::Base;
use super::control_plane::ControlPlanes;
use super::machine::turn::Turns;
use super::workloads::Workloads;
use crate::clock;
use crate::engine::{ActionOutcome, Controller, Engine, ReconcileError};
use crate::metrics::Metrics;
use crate::providers::Hosts;
use crate::remote::Reach;
use tatara_core::api::conditions::{ConditionType, Finding};
use tatara_core::api::{Cluster, ClusterStatus};
use tatara_core::cluster::plan::{self, Action, Plan};
use tatara_core::cluster::{Observed, status};
use tatara_core::trouble::Trouble;

pub use names::Names;
pub use sources::{Now, Sources};

/// The controller of Clusters.
pub struct Clusters {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The workload clusters.
    pub workloads: Arc<Workloads>,
    /// Hosts over SSH.
    pub hosts: Arc<Hosts>,
    /// The control-plane turns.
    pub turns: Arc<Turns>,
    /// Their etcds.
    pub control_planes: Arc<ControlPlanes>,
    /// ConfigMaps and Secrets with addons.
    pub sources: Sources,
    /// Their Secrets.
    pub secrets: Sources,
    /// Where kubeconfigs and endpoints may lead.
    pub reach: Reach,
    /// Names of existing Secrets.
    pub secret_names: Arc<Names>,
    /// Metrics of turns.
    pub metrics: Metrics,
}

impl Clusters {
    /// Forgets a Cluster that is deleted, or not ours.
    pub fn forget(&self, cluster: &Cluster) {
        let uid = cluster.uid().unwrap_or_default();
        self.metrics.turn(cluster, None);
        self.workloads.forget(cluster);
        self.sources.forget(&uid);
        self.secrets.forget(&uid);
    }
}

impl Controller for Clusters {
    type Object = Cluster;
    type Observed = Observed;
    type Plan = Plan;
    type Status = ClusterStatus;

    const NAME: &'static str = "cluster";
    const EVENTS: &'static [ConditionType] = status::EVENTS;

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, cluster: &Cluster) -> bool {
        self.base.is_held(cluster).await
    }

    async fn is_ours(&self, cluster: &Arc<Cluster>) -> Result<bool, ReconcileError> {
        let is_ours = self.base.is_ours(cluster).await?;
        if !is_ours {
            self.forget(cluster);
        }
        Ok(is_ours)
    }

    async fn observe(
        &self,
        cluster: &Arc<Cluster>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        let observed = observe::observe(self, cluster.clone()).await?;
        let turn = status::turn(cluster, &observed, clock::now());
        self.metrics.turn(cluster, turn.as_ref());
        Ok(observed)
    }

    fn plan(observed: &Observed, _: Timestamp) -> Plan {
        plan::plan(observed)
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        now: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        perform::perform(self, observed, action, now).await
    }

    fn ends(action: &Action) -> bool {
        matches!(action, Action::Finish)
    }

    /// Of etcd only: what else has not ended is in the plan already.
    fn learn(&self, _: &Observed, plan: &mut Plan, found: Option<Finding>) -> bool {
        let is_etcd = |finding: &Finding| finding.condition == ConditionType::EtcdHealthy;
        let Some(found) = found.filter(is_etcd) else {
            return false;
        };
        plan.findings.retain(|finding| !is_etcd(finding));
        plan.findings.push(found);
        true
    }

    fn reported(cluster: &Cluster) -> Option<&ClusterStatus> {
        cluster.status.as_ref()
    }

    fn holds_back(
        observed: &Observed,
        old: &ClusterStatus,
        new: &ClusterStatus,
        _: &Plan,
    ) -> Duration {
        let mut troubles = observed
            .machines
            .iter()
            .filter_map(|one| one.trouble.as_ref());
        status::holds_back(troubles.any(Trouble::is_warning), old, new)
    }

    fn is_news(_: &Cluster, old: &ClusterStatus, _: &ClusterStatus, finding: &Finding) -> bool {
        status::is_news(old, finding)
    }

    fn status(
        cluster: &Cluster,
        observed: &Observed,
        plan: &Plan,
        now: Timestamp,
    ) -> Option<ClusterStatus> {
        status::status(cluster, observed, plan, now)
    }
}
