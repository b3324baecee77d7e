//! Walks one machine through its life: claim → prepare → init or join → run → drain → release.

mod execute;
mod nodes;
mod observe;
mod observed;
pub mod plan;
mod report;
mod settings;
mod site;
pub mod turn;
mod units;
mod virtual_machine;

pub use observe::{cluster_endpoint, host_address};
pub use observed::{
    Contact, Held, Namesake, Observed, ObservedCluster, PendingClaim, Placement, Refusal, Seen,
    SpecProblem, Stuck, Told, VirtualMachine,
};

use std::sync::Arc;

use kube::runtime::controller::Action;

use super::ReconcileError;
use crate::api::Machine;
use crate::manager::Context;

/// One pass over a Machine.
pub async fn reconcile(
    machine: Arc<Machine>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let mut observed = observe::observe(&context, machine).await?;
    let now = crate::clock::now();
    let mut plan = plan::plan(&observed, now);
    if plan.hands_off {
        return Ok(Action::await_change());
    }
    if !plan.is_quick() {
        report::write(&context, &mut observed, &plan, now).await?;
    }
    let outcome = execute::execute(&context, &observed, &plan).await?;
    if plan.learn(&observed, outcome) {
        report::write(&context, &mut observed, &plan, now).await?;
    }
    Ok(plan.next.action())
}
