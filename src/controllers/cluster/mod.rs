//! A Cluster: certificates → endpoint → control plane → kubeconfig → addons → health; and its end.

mod addons;
mod attempt;
mod execute;
mod known;
mod observe;
mod observed;
pub mod plan;
mod report;
mod secrets;
mod sources;

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::{ReconcileError, whose};
use crate::api::Cluster;
use crate::manager::{Context, member_key};

pub use known::{Known, KnownClusters};
pub use observe::cluster_input;
pub use observed::{Addons, Certificates, Health, MachineFact, Observed};
pub use secrets::other_cluster;
pub use sources::Sources;

/// One pass over a Cluster.
pub async fn reconcile(
    cluster: Arc<Cluster>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if !whose::is_ours(&context, &cluster).await? {
        forget(&context, &cluster);
        return Ok(Action::await_change());
    }
    let observed = observe::observe(&context, cluster).await?;
    let now = crate::clock::now();
    let plan = plan::plan(&observed);
    report::write(&context, &observed, &plan, now).await?;
    execute::execute(&context, &observed, &plan, now).await?;
    Ok(plan.next.action())
}

/// Forgets what was found out about a Cluster that is gone, or not ours.
pub fn forget(context: &Context, cluster: &Cluster) {
    let uid = cluster.uid().unwrap_or_default();
    context.members.disconnect(&member_key(cluster));
    context.known.forget(&uid);
    context.sources.forget(&uid);
    context.secrets.forget(&uid);
}
