//! Steps MachineSets from one template to the next, and scales them.
//!
//! It looks at MachineSets only, never past them: what it knows of Machines is what the sets say.

mod execute;
pub mod observed;
pub mod plan;
mod report;
pub mod revision;

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action as Requeue;

pub use observed::{Counts, Observed, ObservedSet, Unresolved};

use super::{Next, ReconcileError, machine_class, paused};
use crate::api::machine_provider_spec::ProviderSpecError;
use crate::api::{MachineDeployment, MachineProviderSpec};
use crate::manager::Context;

/// One pass over a MachineDeployment.
pub async fn reconcile(
    deployment: Arc<MachineDeployment>,
    context: Arc<Context>,
) -> Result<Requeue, ReconcileError> {
    let namespace = deployment.namespace().unwrap_or_default();
    let spec = &deployment.spec.template.spec.provider_spec;
    let resolved = machine_class::resolve(&context.stores, &namespace, spec);
    let foreign = |value| {
        matches!(
            MachineProviderSpec::decode(value),
            Err(ProviderSpecError::Foreign { .. })
        )
    };
    if resolved.as_ref().is_ok_and(foreign) {
        return Ok(Requeue::await_change());
    }
    let resolved = resolved.map_err(|problem| Unresolved {
        reason: problem.reason,
        message: problem.message,
    });
    let sets = context.stores.machine_sets.within(&namespace);
    let mut observed = Observed::from_api(&deployment, resolved, sets.iter().map(AsRef::as_ref));
    observed.paused_by = paused::paused_by(&context.stores, deployment.as_ref());
    let now = crate::clock::now();
    let plan = plan::plan(&observed, now);
    report::write(&context, &deployment, &plan, now).await?;
    execute::execute(&context, &observed, &plan).await?;
    Ok(Next::at(plan.wake_at, now).action())
}
