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

use kube::runtime::controller::Action;

use super::ReconcileError;
use crate::api::Cluster;
use crate::manager::Context;

pub use known::{Known, KnownClusters};
pub use observe::cluster_input;
pub use observed::{Addons, Certificates, Health, MachineFact, Observed};
pub use sources::Sources;

/// One pass over a Cluster.
pub async fn reconcile(
    cluster: Arc<Cluster>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let observed = observe::observe(&context, cluster).await?;
    let now = crate::clock::now();
    let plan = plan::plan(&observed);
    report::write(&context, &observed, &plan, now).await?;
    execute::execute(&context, &observed, &plan, now).await?;
    Ok(plan.next.action())
}
