//! Which changes wake which controllers. A missed wake-up costs time, not correctness: every
//! reconcile starts from the current state.

mod clusters;
mod hosts;
mod hypervisors;
mod machines;

use kube::{Resource, ResourceExt};

use crate::store::{Change, Wakers};
use tatara_core::api::ProviderSpec;
use tatara_core::api::names::ANNOTATION_PAUSED;

pub use clusters::cluster;
pub use hosts::{bmc_credential, credential, host};
pub use hypervisors::{gateway_credential, hypervisor};
pub use machines::{machine, machine_class, machine_deployment, machine_set};

/// Whether the paused annotation, which applies to all dependents, was added or removed.
fn is_pause_news<K: Resource>(object: &K, before: Option<&K>, change: Change) -> bool {
    let is_paused = |object: &K| object.annotations().contains_key(ANNOTATION_PAUSED);
    before.is_some_and(is_paused) != (change == Change::Applied && is_paused(object))
}

/// Wakes the current and the former class of an object, unless they are the same:
/// a class is in use while any object names it.
fn wake_classes(
    wakers: &Wakers,
    namespace: &str,
    now: &ProviderSpec,
    before: Option<&ProviderSpec>,
    change: Change,
) {
    let (now, before) = (class(now), before.and_then(class));
    let is_same = change == Change::Applied && before == now;
    for name in now.into_iter().chain(before).filter(|_| !is_same) {
        wakers.machine_classes.wake(namespace, name);
    }
}

/// The class that a provider spec names.
fn class(spec: &ProviderSpec) -> Option<&str> {
    let class = spec.value_from.as_ref()?.machine_class.as_ref()?;
    Some(&class.name)
}

#[cfg(test)]
mod tests;
