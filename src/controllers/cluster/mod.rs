//! A Cluster: certificates → endpoint → control plane → kubeconfig → addons → health; and its end.

mod addons;
mod known;
mod observe;
mod perform;
mod secrets;
mod sources;

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::{unreadable, whose};
use crate::api::conditions::ConditionType;
use crate::api::{Cluster, ClusterStatus};
use crate::core::cluster::plan::{self, Action, Plan};
use crate::core::cluster::{Observed, status};
use crate::engine::{Controller, Done, ReconcileError};
use crate::manager::{Context, member_key};

pub use known::{Known, KnownClusters};
pub use secrets::other_cluster;
pub use sources::{Now, Sources};

/// The controller of Clusters.
pub struct Clusters {
    /// What controllers share.
    pub context: Arc<Context>,
}

impl Controller for Clusters {
    type Object = Cluster;
    type Observed = Observed;
    type Plan = Plan;
    type Status = ClusterStatus;

    const NAME: &'static str = "cluster";
    const EVENTS: &'static [ConditionType] = status::EVENTS;

    async fn is_held(&self, cluster: &Cluster) -> bool {
        unreadable::holds(&self.context, cluster).await
    }

    async fn is_ours(&self, cluster: &Arc<Cluster>) -> Result<bool, ReconcileError> {
        let is_ours = whose::is_ours(&self.context, cluster).await?;
        if !is_ours {
            forget(&self.context, cluster);
        }
        Ok(is_ours)
    }

    async fn observe(
        &self,
        cluster: &Arc<Cluster>,
        _: Timestamp,
    ) -> Result<Observed, ReconcileError> {
        observe::observe(&self.context, cluster.clone()).await
    }

    fn plan(observed: &Observed, _: Timestamp) -> Plan {
        plan::plan(observed)
    }

    async fn perform(
        &self,
        observed: &Observed,
        action: &Action,
        now: Timestamp,
    ) -> Result<Done, ReconcileError> {
        perform::perform(&self.context, observed, action, now).await?;
        Ok(Done::Yes)
    }

    fn reported(cluster: &Cluster) -> Option<&ClusterStatus> {
        cluster.status.as_ref()
    }

    fn is_passing(old: &ClusterStatus, new: &ClusterStatus, plan: &Plan) -> bool {
        status::is_passing(old, new, plan)
    }

    fn status(
        cluster: &Cluster,
        observed: &Observed,
        plan: &Plan,
        _: Timestamp,
    ) -> Option<ClusterStatus> {
        status::status(cluster, observed, plan)
    }
}

/// Forgets what was found out about a Cluster that is gone, or not ours.
pub fn forget(context: &Context, cluster: &Cluster) {
    let uid = cluster.uid().unwrap_or_default();
    context.members.disconnect(&member_key(cluster));
    context.known.forget(&uid);
    context.sources.forget(&uid);
    context.secrets.forget(&uid);
}
