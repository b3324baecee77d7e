//! Steps MachineSets from one template to the next, and scales them.
//!
//! It looks at MachineSets only, never past them: what it knows of Machines is what the sets say.

mod execute;
pub mod observed;
pub mod plan;
mod report;
pub mod revision;

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::ListParams;
use kube::runtime::controller::Action as Requeue;
use kube::{Api, ResourceExt};

pub use observed::{Counts, Observed, ObservedSet, Unresolved};

use super::machine_set::Owner;
use super::whose::{self, Shared};
use super::{Next, ReconcileError, machine_class, patch, paused};
use crate::api::readable::unreadable;
use crate::api::{MachineDeployment, MachineSet};
use crate::manager::Context;
use crate::store::Item;

/// One pass over a MachineDeployment. What it decides depends on all of its sets at once, so before
/// anything is done it is decided anew by what there is at this moment.
pub async fn reconcile(
    deployment: Arc<MachineDeployment>,
    context: Arc<Context>,
) -> Result<Requeue, ReconcileError> {
    if !whose::is_ours(&context, &deployment).await? {
        return Ok(Requeue::await_change());
    }
    let namespace = deployment.namespace().unwrap_or_default();
    let stored = context.stores.machine_sets.within(&namespace);
    let stored: Vec<&MachineSet> = stored.iter().map(AsRef::as_ref).collect();
    let observed = observe(&context, &deployment, &stored);
    let now = crate::clock::now();
    let plan = plan::plan(&observed, now);
    if plan.actions.is_empty() {
        report::write(&context, &deployment, &plan, now).await?;
        return Ok(Next::at(plan.wake_at, now).action());
    }
    let (deployment, sets) = look(&context, &deployment).await?;
    if !deployment.is_ours(&context.stores) {
        return Ok(Requeue::await_change());
    }
    let live: Vec<&MachineSet> = sets.iter().collect();
    let observed = observe(&context, &deployment, &live);
    let plan = plan::plan(&observed, now);
    report::write(&context, &deployment, &plan, now).await?;
    execute::execute(&context, &observed, &sets, &plan).await?;
    Ok(Next::at(plan.wake_at, now).action())
}

/// What a pass needs, of these sets of the namespace.
fn observe(context: &Context, deployment: &MachineDeployment, sets: &[&MachineSet]) -> Observed {
    let namespace = deployment.namespace().unwrap_or_default();
    let template = &deployment.spec.template.spec;
    let usable = machine_class::usable(&context.stores, &namespace, template);
    let usable = usable.map_err(|problem| Unresolved {
        reason: problem.reason,
        message: problem.message,
    });
    let mut observed = Observed::from_api(deployment, usable, sets.iter().copied());
    // the names of others stay taken
    let others = sets.iter().filter(|set| !set.is_ours(&context.stores));
    let others: BTreeSet<String> = others.map(|set| set.name_any()).collect();
    observed.sets.retain(|set| !others.contains(&set.name));
    observed.paused_by = paused::paused_by(&context.stores, deployment);
    observed
}

/// The deployment and the sets of its namespace as the API server has them now.
async fn look(
    context: &Context,
    deployment: &MachineDeployment,
) -> Result<(MachineDeployment, Vec<MachineSet>), ReconcileError> {
    let deployment = patch::live(&context.client, deployment).await?;
    let namespace = deployment.namespace().unwrap_or_default();
    let sets: Api<Item<MachineSet>> = Api::namespaced(context.client.clone(), &namespace);
    let sets = sets.list(&ListParams::default()).await;
    let sets = sets.map_err(ReconcileError::api("list MachineSets"))?;
    let sets: Vec<MachineSet> = sets.items.into_iter().map(|Item(set)| set).collect();
    let uid = deployment.uid().unwrap_or_default();
    let is_ours = |set: &&MachineSet| Owner::of(&set.metadata, &uid) == Owner::Ours;
    if sets
        .iter()
        .filter(is_ours)
        .any(|set| unreadable(set).is_some())
    {
        // the watch shows it in a moment, and the next pass waits for it
        return Err(ReconcileError::Conflict {
            what: format!("read the MachineSets of {}", deployment.name_any()),
        });
    }
    Ok((deployment, sets))
}
