//! Keeps a Hypervisor while Machines are on it, and the Secret that it is reached with.

use super::observed::Observed;
use super::plan::Plan;
use crate::controllers::{ReconcileError, patch};
use crate::manager::Context;

/// Writes or takes away the finalizer, where it has to be.
pub async fn execute(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
) -> Result<(), ReconcileError> {
    context.must_lead()?;
    patch::hold(&context.client, observed.hypervisor.as_ref(), plan.held).await
}
