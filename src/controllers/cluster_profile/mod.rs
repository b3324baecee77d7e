//! ClusterProfiles (SIG Multicluster, KEP-4322): what others learn of a Cluster and how they reach it.
//! Passes are made over Clusters, beside their own controller, which reports what is found here: a status has one writer.
//!
//! Consumers drop their clients on every event of a profile, so it is written only when something
//! differs, `accessProviders` outlive outages, and each status is what was detected, never a wish.

mod changes;
mod member;
mod memory;
mod observe;
mod perform;
mod profiles;

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::unreadable;
use crate::api::Cluster;
use crate::api::conditions::Finding;
use crate::controllers::whose::Shared;
use crate::core::cluster_profile::plan::{self, Action, Plan};
use crate::core::paused;
use crate::engine::{Controller, Done, ReconcileError};
use crate::manager::Context;

pub use changes::changes;
pub use memory::{Memory, remember};
pub use observe::{Seen, observe};
pub use perform::perform;

/// The controller of the ClusterProfiles of Clusters.
pub struct ClusterProfiles {
    /// What controllers share.
    pub context: Arc<Context>,
}

impl Controller for ClusterProfiles {
    type Object = Cluster;
    type Observed = Seen;
    type Plan = Plan;
    type Status = ();

    const NAME: &'static str = "cluster-profile";

    /// A mistake in the settings is the Cluster controller's to report; the profile stays as it is.
    async fn is_held(&self, cluster: &Cluster) -> bool {
        unreadable::holds(&self.context, cluster).await
            || paused::itself(cluster).is_some()
            || observe::settings(cluster).is_err()
    }

    async fn is_ours(&self, cluster: &Arc<Cluster>) -> Result<bool, ReconcileError> {
        Ok(cluster.is_ours(&self.context.stores))
    }

    async fn observe(
        &self,
        cluster: &Arc<Cluster>,
        now: Timestamp,
    ) -> Result<Seen, ReconcileError> {
        let context = &self.context;
        let settings = observe::settings(cluster);
        let settings = settings
            .map_err(|why| ReconcileError::other("read the settings of the Cluster", why))?;
        let input = observe::input(context, cluster, &settings);
        let member = context.member(cluster);
        let member = member.map(|member| member.client().clone());
        observe::observe(&context.client, &context.profiles, (input, member), now).await
    }

    fn plan(seen: &Seen, now: Timestamp) -> Plan {
        plan::plan(&seen.observed, now)
    }

    async fn perform(
        &self,
        seen: &Seen,
        action: &Action,
        _: Timestamp,
    ) -> Result<Done, ReconcileError> {
        let context = &self.context;
        perform::perform(&context.engine, &context.profiles, seen, action).await
    }

    /// What was found is handed to the Cluster's own controller.
    fn learn(&self, seen: &Seen, plan: &mut Plan, found: Option<Finding>) -> bool {
        plan.learn(found);
        remember(&self.context.profiles, seen, plan);
        let (known, cluster) = (&self.context.known, seen.input.cluster.as_ref());
        let uid = cluster.uid().unwrap_or_default();
        let is_news =
            !plan.findings.is_empty() && known.get(&uid).profile_findings != plan.findings;
        if is_news {
            known.update(&uid, |known| {
                known.profile_findings.clone_from(&plan.findings);
            });
            self.context.wakers.clusters.wake_object(cluster);
        }
        false
    }

    fn reported(_: &Cluster) -> Option<&()> {
        None
    }

    fn status(_: &Cluster, _: &Seen, _: &Plan, _: Timestamp) -> Option<()> {
        None
    }
}
