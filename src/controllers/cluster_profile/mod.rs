//! ClusterProfiles (SIG Multicluster, KEP-4322): publish a Cluster's properties and access to
//! consumers. This controller reconciles Clusters beside their own controller, which reports its
//! findings: a status has one writer.
//!
//! Consumers drop their clients on every event of a profile, so a profile is written only if it
//! differs, `accessProviders` outlive outages, and each status reports what was detected, never
//! what is desired.

mod changes;
mod memory;
mod observe;
mod perform;
mod profiles;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::base::Base;
use super::cluster::{Names, Sources};
use super::workloads::Workloads;
use crate::controllers::ownership::ProviderObject;
use crate::engine::{ActionOutcome, Controller, Engine, ReconcileError};
use tatara_core::api::Cluster;
use tatara_core::api::conditions::Finding;
use tatara_core::cluster_profile::plan::{self, Action, Plan};
use tatara_core::paused;

pub use changes::changes;
pub use memory::{Memory, remember};
pub use observe::{ProfileView, observe};
pub use perform::perform;

/// The controller of the ClusterProfiles of Clusters.
pub struct ClusterProfiles {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The clusters that are published.
    pub workloads: Arc<Workloads>,
    /// The memory of their ClusterProfiles.
    pub memory: Memory,
    /// The Secrets of their consumers.
    pub consumers: Sources,
    /// Names of existing Secrets.
    pub secret_names: Arc<Names>,
    /// Namespaces beside a Cluster's own in which ClusterProfiles may be published.
    pub namespaces: Vec<String>,
}

impl ClusterProfiles {
    /// Forgets a deleted Cluster.
    pub fn forget(&self, cluster: &Cluster) {
        self.memory.forget(cluster);
        self.consumers.forget(&cluster.uid().unwrap_or_default());
    }
}

impl Controller for ClusterProfiles {
    type Object = Cluster;
    type Observed = ProfileView;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "cluster-profile";
    /// When a Cluster is created, many facts that the profile contains change one after the other.
    const TOGETHER: Duration = Duration::from_millis(500);

    fn engine(&self) -> &Engine {
        &self.base.engine
    }

    async fn is_held(&self, cluster: &Cluster) -> bool {
        self.base.is_held(cluster).await
    }

    /// The profile of a paused or invalid Cluster stays as it is; the change of the Cluster that
    /// ends this wakes us.
    async fn is_ours(&self, cluster: &Arc<Cluster>) -> Result<bool, ReconcileError> {
        Ok(cluster.is_ours(self.base.stores()) && !is_left_alone(cluster))
    }

    async fn observe(
        &self,
        cluster: &Arc<Cluster>,
        now: Timestamp,
    ) -> Result<ProfileView, ReconcileError> {
        let settings = observe::settings(cluster);
        let settings = settings
            .map_err(|why| ReconcileError::other("read the settings of the Cluster", why))?;
        let input = observe::input(self, cluster, &settings);
        let workload = self.workloads.get(cluster);
        let workload = workload.map(|workload| workload.client().clone());
        observe::observe(
            &self.base.engine.client,
            &self.memory,
            (input, workload),
            now,
        )
        .await
    }

    fn plan(seen: &ProfileView, now: Timestamp) -> Plan {
        plan::plan(&seen.observed, now)
    }

    async fn perform(
        &self,
        seen: &ProfileView,
        action: &Action,
        _: Timestamp,
    ) -> Result<ActionOutcome, ReconcileError> {
        perform::perform(&self.base.engine, &self.memory, seen, action).await
    }

    /// Passes the findings to the Cluster's own controller.
    fn learn(&self, seen: &ProfileView, plan: &mut Plan, found: Option<Finding>) -> bool {
        plan.learn(found);
        remember(&self.memory, seen, plan);
        let (known, cluster) = (&self.workloads.known, seen.input.cluster.as_ref());
        let uid = cluster.uid().unwrap_or_default();
        let is_news =
            !plan.findings.is_empty() && known.get(&uid).profile_findings != plan.findings;
        if is_news {
            known.update(&uid, |known| {
                known.profile_findings.clone_from(&plan.findings);
            });
            self.base.wakers.clusters.wake_object(cluster);
        }
        false
    }

    fn reported(_: &Cluster) -> Option<&()> {
        None
    }

    fn status(_: &Cluster, _: &ProfileView, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}

/// Whether it is paused, or its settings are invalid, which its own controller reports.
fn is_left_alone(cluster: &Cluster) -> bool {
    paused::itself(cluster).is_some() || observe::settings(cluster).is_err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use tatara_core::api::names::ANNOTATION_PAUSED;

    #[test]
    fn a_paused_cluster_and_one_with_a_mistake_in_its_settings_are_left_alone() {
        let ours = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "ClusterProviderSpec"});
        let mut wrong = ours.clone();
        wrong["profile"] = json!("yes");
        let foreign = json!({"apiVersion": "aws/v1", "kind": "AWSClusterProviderSpec"});
        for (annotations, provider, is_deleted, expected) in [
            (json!({}), json!(null), false, false),
            (json!({}), ours.clone(), false, false),
            (json!({(ANNOTATION_PAUSED): ""}), ours, false, true),
            (json!({}), wrong.clone(), false, true),
            (json!({}), foreign, false, true),
            (json!({}), wrong, true, false),
        ] {
            let network = json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
            let deleted = is_deleted.then_some("2026-11-21T10:00:00Z");
            let cluster = json!({
                "metadata": {"name": "a", "annotations": annotations, "deletionTimestamp": deleted},
                "spec": {"clusterNetwork": network, "providerSpec": {"value": provider}}});
            let cluster: Cluster = serde_json::from_value(cluster).expect("a Cluster");
            assert_eq!(is_left_alone(&cluster), expected, "{cluster:?}");
        }
    }
}
