//! Whether an object is paused: the annotation `cluster.k8s.io/paused`, on the object or on
//! an owner of it.

use std::sync::Arc;

use kube::{Resource, ResourceExt};

use crate::store::{IndexKeys, Kind, Stores};
use tatara_core::api::names::LABEL_CLUSTER;
use tatara_core::paused::itself;

/// The object whose annotation pauses this one, as "MachineDeployment pool": itself, the set or the
/// deployment that controls it, or its Cluster.
pub fn paused_by<K: IndexKeys>(stores: &Stores, object: &K) -> Option<String> {
    let set = controller(&stores.machine_sets, object);
    let deployment = match &set {
        Some(set) => controller(&stores.machine_deployments, set.as_ref()),
        None => controller(&stores.machine_deployments, object),
    };
    let cluster = || {
        let name = object.labels().get(LABEL_CLUSTER)?;
        stores.clusters.get(&object.namespace()?, name)
    };
    itself(object)
        .or_else(|| itself(set?.as_ref()))
        .or_else(|| itself(deployment?.as_ref()))
        .or_else(|| itself(cluster()?.as_ref()))
}

/// The object of this kind that controls another.
fn controller<K, O>(kind: &Kind<O>, object: &K) -> Option<Arc<O>>
where
    K: Resource<DynamicType = ()>,
    O: Resource<DynamicType = ()> + Clone + 'static,
{
    let owners = object.owner_references().iter();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.find_map(|owner| kind.by_uid(&owner.uid))
}

#[cfg(test)]
#[path = "paused_tests.rs"]
mod tests;
