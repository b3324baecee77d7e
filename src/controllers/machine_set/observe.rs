//! Gathers the facts for a pass over a MachineSet, from the stores.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::MachineSets;
use crate::controllers::ownership::ProviderObject;
use crate::controllers::{machine_class, paused, skew};
use crate::engine::ReconcileError;
use tatara_core::Key;
use tatara_core::api::{Machine, MachineSet};
use tatara_core::machine_set::{Gate, Observed, ObservedMachine, Owner, Seed};

/// Gathers the facts for a pass over a MachineSet.
///
/// # Errors
/// Those of [`around`].
pub fn observe(
    controller: &MachineSets,
    set: &MachineSet,
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    let machines = seen(controller, set, &listed(controller, set));
    around(controller, set, machines, now)
}

/// The Machines of a set: those that the watch shows, and those in flight. What is in flight and
/// shown is settled.
pub fn listed(controller: &MachineSets, set: &MachineSet) -> Vec<Arc<Machine>> {
    let namespace = set.namespace().unwrap_or_default();
    let uid = set.uid().unwrap_or_default();
    let stored = &controller.base.stores().machines;
    let mut seen = controller.in_flight().made(&uid);
    seen.retain(|name| stored.get(&namespace, name).is_some());
    let mut machines = stored.by(&Key::Owner(uid.clone()));
    machines.extend(stored.by(&Key::Orphan(namespace.clone())));
    let shows = |name: &str| seen.iter().any(|seen| seen == name);
    controller.in_flight().settle(&uid, machines, shows)
}

/// These Machines, as the set sees them.
pub fn seen(
    controller: &MachineSets,
    set: &MachineSet,
    machines: &[Arc<Machine>],
) -> Vec<Arc<ObservedMachine>> {
    let uid = set.uid().unwrap_or_default();
    let mut views = controller.views().all(&uid, machines);
    for (machine, view) in machines.iter().zip(&mut views) {
        if !machine.is_ours(controller.base.stores()) {
            Arc::make_mut(view).owner = Owner::Other;
        }
    }
    views
}

/// Like [`observe`], with these Machines.
///
/// # Errors
/// `ReconcileError::Other` when the operating system provides no random bytes.
pub fn around(
    controller: &MachineSets,
    set: &MachineSet,
    machines: Vec<Arc<ObservedMachine>>,
    now: Timestamp,
) -> Result<Observed, ReconcileError> {
    let (stores, namespace) = (
        controller.base.stores(),
        set.namespace().unwrap_or_default(),
    );
    let resolved = machine_class::usable(stores, &namespace, &set.spec.template.spec);
    let resolved = resolved.map_err(|problem| Gate {
        reason: problem.reason,
        message: problem.message(),
    });
    let gate = skew::of_set(stores, set, &namespace);
    let mut observed = Observed::from_api(set, resolved, gate, machines);
    observed.paused_by = paused::paused_by(stores, set);
    observed.due = controller.in_flight().due(&observed.uid, now);
    observed.seed = seed()?;
    Ok(observed)
}

/// Random bytes of the operating system.
fn seed() -> Result<Seed, ReconcileError> {
    let random = rustls::crypto::ring::default_provider().secure_random;
    let mut seed = Seed::default();
    let filled = random.fill(&mut seed);
    filled.map_err(|_| ReconcileError::other("name Machines", "no random numbers"))?;
    Ok(seed)
}
