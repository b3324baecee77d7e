//! Control-plane Machines that a MachineDeployment may adopt.

use std::sync::Arc;

use kube::api::ListParams;
use kube::core::{Selector, SelectorExt as _};
use kube::{Api, ResourceExt};

use crate::controllers::machine_class;
use crate::controllers::ownership::ProviderObject;
use crate::engine::{Engine, ReconcileError};
use crate::store::{Item, Stores};
use tatara_core::api::names::LABEL_CLUSTER;
use tatara_core::api::readable::unreadable;
use tatara_core::api::{Machine, MachineDeployment};
use tatara_core::machine_deployment::{Orphan, has_control_plane};
use tatara_core::{Key, paused};

/// Those that the watch shows. A deployment of workers adopts none, and says so.
pub fn listed(stores: &Stores, deployment: &MachineDeployment) -> Vec<Orphan> {
    let Some(cluster) = cluster(deployment) else {
        return Vec::new();
    };
    let namespace = deployment.namespace().unwrap_or_default();
    let key = Key::ControlPlane(namespace, cluster.to_owned());
    of(stores, deployment, &stores.machines.by(&key))
}

/// Those that exist at this moment, for a deployment of control planes: what the watch does not
/// show yet would be made a second time.
///
/// # Errors
/// `ReconcileError::Api` when the Machines cannot be listed.
pub async fn live(
    engine: &Engine,
    deployment: &MachineDeployment,
) -> Result<Vec<Orphan>, ReconcileError> {
    let Some(cluster) =
        cluster(deployment).filter(|_| has_control_plane(&deployment.spec.template))
    else {
        return Ok(listed(&engine.stores, deployment));
    };
    let namespace = deployment.namespace().unwrap_or_default();
    let machines: Api<Item<Machine>> = Api::namespaced(engine.client.clone(), &namespace);
    let selector = Selector::try_from(deployment.spec.selector.clone()).unwrap_or_default();
    let of_cluster = format!("{LABEL_CLUSTER}={cluster}");
    let labels = if selector.selects_all() {
        of_cluster
    } else {
        format!("{of_cluster},{selector}")
    };
    let all = machines.list(&ListParams::default().labels(&labels)).await;
    let all = all.map_err(ReconcileError::api("list Machines"))?;
    let all: Vec<Arc<Machine>> = all.items.into_iter().map(|Item(m)| Arc::new(m)).collect();
    for machine in &all {
        engine.learn(machine.as_ref());
    }
    Ok(of(&engine.stores, deployment, &all))
}

/// The Cluster of a deployment's Machines.
fn cluster(deployment: &MachineDeployment) -> Option<&String> {
    let labels = deployment.labels();
    let of_template = &deployment.spec.template.metadata.labels;
    // in the order in which a MachineSet labels what it creates
    of_template
        .get(LABEL_CLUSTER)
        .or_else(|| labels.get(LABEL_CLUSTER))
}

fn of(stores: &Stores, deployment: &MachineDeployment, machines: &[Arc<Machine>]) -> Vec<Orphan> {
    let Ok(selector) = Selector::try_from(deployment.spec.selector.clone()) else {
        return Vec::new();
    };
    let namespace = deployment.namespace().unwrap_or_default();
    let is_free = |machine: &&Arc<Machine>| {
        !machine.is_owned()
            && machine.metadata.deletion_timestamp.is_none()
            && machine.is_control_plane()
            && machine.is_ours(stores)
            && unreadable(machine.as_ref()).is_none()
            && !selector.selects_all()
            && selector.matches(machine.labels())
    };
    let orphan = |machine: &Arc<Machine>| {
        let spec = machine_class::resolve(stores, &namespace, &machine.spec.provider_spec);
        Orphan {
            name: machine.name_any(),
            uid: machine.uid().unwrap_or_default(),
            versions: machine.versions().cloned(),
            is_paused: paused::itself(machine.as_ref()).is_some(),
            // what cannot be resolved differs from every template
            provider_spec: spec.unwrap_or_default(),
        }
    };
    let mut found: Vec<Orphan> = machines.iter().filter(is_free).map(orphan).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}
