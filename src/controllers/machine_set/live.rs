//! Live reads: before irreversible actions, and if the watch shows too little.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::{Api, ResourceExt};

use super::MachineSets;
use super::observe::{around, seen};
use crate::controllers::live_read::Look;
use crate::controllers::ownership::ProviderObject;
use crate::controllers::paged_list;
use crate::engine::{ReconcileError, patch};
use crate::store::Item;
use tatara_core::api::{Machine, MachineSet};
use tatara_core::machine_set::plan::Plan;
use tatara_core::machine_set::{Observed, Owner};

/// The set and its Machines, read live.
///
/// # Errors
/// `ReconcileError::Conflict` when the set was deleted or is no longer ours; `Api` when it or its
/// Machines cannot be read.
pub async fn look(
    controller: &MachineSets,
    set: &MachineSet,
    plan: &Plan,
    now: Timestamp,
) -> Result<(Arc<MachineSet>, Observed), ReconcileError> {
    let set = patch::live(&controller.base.engine, set).await?;
    if !set.is_ours(controller.base.stores()) {
        return Err(ReconcileError::Conflict {
            what: format!("step MachineSet {}", set.name_any()),
        });
    }
    let uid = set.uid().unwrap_or_default();
    let namespace = set.namespace().unwrap_or_default();
    let selector = plan.label_selector.clone().unwrap_or_default();
    let begun = Look::begin(set.metadata.generation, &controller.base.stores().machines);
    let listed = paged_list::machines(&controller.base.engine, &namespace, &selector).await?;
    let names: HashSet<String> = listed.iter().map(|m| m.name_any()).collect();
    let counted = {
        let mut in_flight = controller.in_flight();
        // what the watch does not show, because it is behind; what is being deleted may be gone
        // already
        let stored = &controller.base.stores().machines;
        let is_new = |m: &&Arc<Machine>| {
            Owner::of(&m.metadata, &uid) == Owner::Ours
                && m.metadata.deletion_timestamp.is_none()
                && stored.get(&namespace, &m.name_any()).is_none()
        };
        let new: Vec<Arc<Machine>> = listed.iter().filter(is_new).cloned().collect();
        in_flight.listed(&uid, &new, now);
        in_flight.looked(&uid, begun);
        in_flight.count(&uid, listed, |name| names.contains(name))
    };
    let machines = seen(controller, &set, &counted);
    let observed = around(controller, &set, machines, now)?;
    Ok((Arc::new(set), observed))
}

/// Reads created Machines live that the watch has not shown for long: they may have been deleted
/// again, or never created. An existing one continues to count.
///
/// # Errors
/// `ReconcileError::Api` when a Machine cannot be read.
pub async fn look_for_overdue(
    controller: &MachineSets,
    set: &MachineSet,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let (namespace, uid) = (
        set.namespace().unwrap_or_default(),
        set.uid().unwrap_or_default(),
    );
    let overdue = controller.in_flight().overdue(&uid, now);
    let machines: Api<Item<Machine>> = Api::namespaced(controller.base.client(), &namespace);
    for name in overdue {
        let found = machines.get_opt(&name).await;
        let found = found.map_err(ReconcileError::api(format!("read Machine {name}")))?;
        let mut in_flight = controller.in_flight();
        match found {
            Some(Item(machine)) => in_flight.found(&uid, machine, now),
            None => in_flight.gone(&uid, &name, now),
        }
    }
    Ok(())
}
