//! Counts unreadable objects, and wakes their namespaces.

use std::sync::Arc;

use kube::ResourceExt;

use crate::metrics::Metrics;
use crate::store::{Hook, IndexKeys, Kind, Stores, Wakers};
use tatara_core::api::readable::unreadable;

/// Counts unreadable objects, and wakes the namespace on each change of one, the last of which may
/// make it readable.
pub fn watching<K: IndexKeys + Clone + 'static>(
    metrics: Metrics,
    (stores, wakers): (Arc<Stores>, Wakers),
    of: fn(&Stores) -> &Kind<K>,
    hook: Hook<K>,
) -> Hook<K> {
    Box::new(move |object, before, change| {
        hook(object, before, change);
        let count = of(&stores).unreadable();
        metrics.unreadable(K::kind(&()).as_ref(), count);
        let was = before.is_some_and(|before| unreadable(before).is_some());
        if was || unreadable(object).is_some() {
            wake(&stores, &wakers, &object.namespace().unwrap_or_default());
        }
    })
}

/// Wakes all objects of a namespace.
fn wake(stores: &Stores, wakers: &Wakers, namespace: &str) {
    macro_rules! wake {
        ($($kind:ident),*) => {
            $(for object in stores.$kind.within(namespace) {
                wakers.$kind.wake_object(&object);
            })*
        };
    }
    wake!(
        clusters,
        machines,
        machine_sets,
        machine_deployments,
        machine_classes,
        hosts,
        hypervisors
    );
    wake!(credentials, gateway_credentials, bmc_credentials);
    for cluster in stores.clusters.within(namespace) {
        wakers.profiles.wake_object(cluster.as_ref());
    }
}
