//! Reads past the watch: before anything that cannot be undone, and where the watch shows too little.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, PoisonError};

use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::in_flight::InFlight;
use super::observe::around;
use crate::api::{Machine, MachineSet};
use crate::controllers::whose::Shared;
use crate::core::machine_set::plan::Plan;
use crate::core::machine_set::{Observed, Owner};
use crate::engine::{ReconcileError, patch};
use crate::manager::Context;
use crate::store::Item;

/// What this process did to Machines and the watch may not show yet.
pub fn in_flight(context: &Context) -> MutexGuard<'_, InFlight> {
    let in_flight = context.in_flight.lock();
    in_flight.unwrap_or_else(PoisonError::into_inner)
}

/// The set and its Machines as the API server has them now.
pub async fn look(
    context: &Context,
    set: &MachineSet,
    plan: &Plan,
    now: Timestamp,
) -> Result<(Arc<MachineSet>, Observed), ReconcileError> {
    let set = patch::live(&context.engine, set).await?;
    if !set.is_ours(&context.stores) {
        return Err(ReconcileError::Conflict {
            what: format!("step MachineSet {}", set.name_any()),
        });
    }
    let uid = set.uid().unwrap_or_default();
    let namespace = set.namespace().unwrap_or_default();
    let machines: Api<Item<Machine>> = Api::namespaced(context.client.clone(), &namespace);
    let selector = plan.label_selector.clone().unwrap_or_default();
    let listed = machines
        .list(&ListParams::default().labels(&selector))
        .await
        .map_err(ReconcileError::api("list Machines"))?;
    let listed = listed.items.into_iter();
    let listed: Vec<Arc<Machine>> = listed.map(|Item(machine)| Arc::new(machine)).collect();
    let names: HashSet<String> = listed.iter().map(|m| m.name_any()).collect();
    let counted = {
        let mut in_flight = in_flight(context);
        if !in_flight.has_listed(&uid) {
            let stored = |m: &Machine| context.stores.machines.get(&namespace, &m.name_any());
            let is_new = |m: &&Arc<Machine>| {
                Owner::of(&m.metadata, &uid) == Owner::Ours && stored(m).is_none()
            };
            let new: Vec<Arc<Machine>> = listed.iter().filter(is_new).cloned().collect();
            in_flight.listed(&uid, &new, now);
        }
        in_flight.looked(&uid, set.metadata.generation);
        in_flight.count(&uid, listed, |name| names.contains(name))
    };
    let observed = around(context, &set, &counted, now)?;
    Ok((Arc::new(set), observed))
}

/// Reads Machines live that were made and that the watch does not show for long: they may be gone
/// again, or never have been made. One that is there goes on being counted.
pub async fn look_for_overdue(
    context: &Context,
    set: &MachineSet,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let (namespace, uid) = (
        set.namespace().unwrap_or_default(),
        set.uid().unwrap_or_default(),
    );
    let overdue = in_flight(context).overdue(&uid, now);
    let machines: Api<Item<Machine>> = Api::namespaced(context.client.clone(), &namespace);
    for name in overdue {
        let found = machines.get_opt(&name).await;
        let found = found.map_err(ReconcileError::api(format!("read Machine {name}")))?;
        let mut in_flight = in_flight(context);
        match found {
            Some(Item(machine)) => in_flight.found(&uid, machine, now),
            None => in_flight.gone(&uid, &name, now),
        }
    }
    Ok(())
}
