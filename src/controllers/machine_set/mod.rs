//! Counts Machines: keeps as many of one template as its MachineSet asks for, and nothing more.

mod execute;
mod observe;
pub mod observed;
pub mod plan;
mod report;

use std::sync::Arc;

use kube::runtime::controller::Action as Requeue;

pub use observed::{Gate, Observed, ObservedMachine, Owner};

use super::{Next, ReconcileError};
use crate::api::MachineSet;
use crate::manager::Context;

/// One pass over a MachineSet.
pub async fn reconcile(
    set: Arc<MachineSet>,
    context: Arc<Context>,
) -> Result<Requeue, ReconcileError> {
    let observed = observe::observe(&context, &set);
    if observed.foreign {
        return Ok(Requeue::await_change());
    }
    let observed = observed.set;
    let now = crate::clock::now();
    let plan = plan::plan(&observed, now);
    report::write(&context, &set, &plan, now).await?;
    execute::execute(&context, &set, &observed, &plan, now).await?;
    Ok(Next::at(plan.wake_at, now).action())
}
