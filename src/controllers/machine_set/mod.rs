//! Counts Machines: keeps as many of one template as its MachineSet asks for, and nothing more.

mod execute;
mod in_flight;
mod live;
mod observe;
pub mod observed;
pub mod plan;
mod report;

use std::sync::Arc;

use kube::runtime::controller::Action as Requeue;

pub use in_flight::InFlight;
pub use observed::{Gate, Observed, ObservedMachine, Owner};

use super::{Next, ReconcileError, whose};
use crate::api::MachineSet;
use crate::manager::Context;

/// One pass over a MachineSet.
///
/// Its status is written when all is done: a MachineDeployment takes a status of the present generation
/// for all that the set did, and takes its next step by it.
pub async fn reconcile(
    set: Arc<MachineSet>,
    context: Arc<Context>,
) -> Result<Requeue, ReconcileError> {
    if !whose::is_ours(&context, &set).await? {
        return Ok(Requeue::await_change());
    }
    let now = crate::clock::now();
    live::look_for_overdue(&context, &set, now).await?;
    let observed = observe::observe(&context, &set)?;
    let mut plan = plan::plan(&observed, now);
    let mut outcome = Ok(());
    if !plan.actions.is_empty() {
        outcome = execute::execute(&context, &set, &observed, &plan, now).await;
        context.must_lead()?;
        plan = plan::plan(&observe::observe(&context, &set)?, now);
    }
    report::write(&context, &set, &plan, now).await?;
    outcome?;
    let due = live::in_flight(&context).due(&observed.uid);
    let wake_at = plan.wake_at.into_iter().chain(due).min();
    Ok(Next::at(wake_at, now).action())
}
