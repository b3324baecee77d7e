//! A Hypervisor: reached, and how much room is on it. What is put there is the Machines' business.

mod execute;
mod observe;
mod observed;
pub mod plan;
mod report;

pub use observed::Observed;

use std::sync::Arc;

use kube::runtime::controller::Action;

use super::ReconcileError;
use crate::api::Hypervisor;
use crate::manager::Context;

/// One pass over a Hypervisor.
pub async fn reconcile(
    hypervisor: Arc<Hypervisor>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let observed = observe::observe(&context, hypervisor);
    let now = crate::clock::now();
    let plan = plan::plan(&observed, now);
    report::write(&context, &observed, &plan, now).await?;
    let next = execute::execute(&context, &observed, &plan).await?;
    Ok(next.action())
}
