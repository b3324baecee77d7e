//! Objects that cannot be read: counted, and their namespaces woken.

use std::sync::Arc;

use kube::ResourceExt;

use super::context::Context;
use crate::api::readable::unreadable;
use crate::store::{Hook, Indexed, Kind, Stores, Wakers};

/// Counts what cannot be read, and wakes its namespace with every change of such an object, the last of which may be
/// that it can be read.
pub fn watching<K: Indexed + Clone + 'static>(
    context: Arc<Context>,
    of: fn(&Stores) -> &Kind<K>,
    hook: Hook<K>,
) -> Hook<K> {
    Box::new(move |object, before, change| {
        hook(object, before, change);
        let (stores, wakers) = (&context.stores, &context.wakers);
        let count = of(stores).unreadable();
        context.metrics.unreadable(K::kind(&()).as_ref(), count);
        let was = before.is_some_and(|before| unreadable(before).is_some());
        if was || unreadable(object).is_some() {
            wake(stores, wakers, &object.namespace().unwrap_or_default());
        }
    })
}

/// Wakes everything in a namespace.
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
