//! Walks one machine through its life: claim → prepare → init or join → run → drain → release.

mod acquire;
mod execute;
mod kind;
mod nodes;
mod observe;
mod observed;
mod outcomes;
pub mod plan;
mod report;
mod settings;
mod site;
pub mod turn;
mod units;
mod virtual_machine;
mod witness;

pub use observe::{cluster_endpoint, first_host, host_address, recorded_cluster, unlabelled};
pub use observed::{
    Chosen, Contact, Held, Namesake, Observed, ObservedCluster, PendingClaim, Placement, Refusal,
    Seen, SpecProblem, Stuck, Told, Unheld, VirtualMachine, is_begun,
};
pub use outcomes::Outcomes;

use std::sync::Arc;

use kube::runtime::controller::Action;

use super::{ReconcileError, whose};
use crate::api::Machine;
use crate::manager::Context;

/// One pass over a Machine.
pub async fn reconcile(
    machine: Arc<Machine>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if !whose::is_ours(&context, &machine).await? {
        return Ok(Action::await_change());
    }
    let mut observed = observe::observe(&context, machine).await?;
    let now = crate::clock::now();
    let mut plan = plan::plan(&observed, now);
    if plan.hands_off {
        return Ok(plan.next.action());
    }
    if !plan.is_quick() {
        let mut told = plan.clone();
        let known = context.outcomes.of(observed.uid(), &plan.actions);
        told.learn(&observed, known);
        report::write(&context, &mut observed, &told, now).await?;
    }
    let outcome = execute::execute(&context, &observed, &plan).await?;
    let (outcomes, uid) = (&context.outcomes, observed.uid());
    outcomes.remember(uid, &plan.actions, &outcome);
    if plan.learn(&observed, outcome) {
        report::write(&context, &mut observed, &plan, now).await?;
    }
    Ok(plan.next.action())
}
