//! The settings that a node has, recorded on its Machine; and whose node follows those of its
//! Cluster next.

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::json;

use super::Machines;
use crate::controllers::ownership::ProviderObject;
use crate::controllers::paused::paused_by;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::store::Stores;
use tatara_core::api::conditions::Finding;
use tatara_core::api::names::{ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_KEPT};
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine};
use tatara_core::machine::Observed;
use tatara_core::machine::live::settings as live;
use tatara_core::node::JobKind;
use tatara_core::planner::settings::next_to_follow;
use tatara_core::{Key, settings};

/// Records the settings that the node is about to be created with; of a control plane that is
/// initialized, on its Cluster too.
///
/// # Errors
/// `ReconcileError::Conflict`, `Api` and `NotLeading` as for any write.
pub(super) async fn before(
    controller: &Machines,
    observed: &Observed,
    name: JobKind,
) -> Result<(), ReconcileError> {
    let of_others = || of_others(controller, observed);
    let Some(record) = live::created_with(observed, name, of_others) else {
        return Ok(());
    };
    if name == JobKind::Init {
        on_cluster(controller, observed).await?;
    }
    write(controller, observed, &record).await.map(drop)
}

/// What kubeadm init is about to write into its ConfigMaps.
async fn on_cluster(controller: &Machines, observed: &Observed) -> Result<(), ReconcileError> {
    let spec = observed.cluster.as_ref().map(|cluster| &cluster.spec);
    let Some(Ok(spec)) = spec else {
        return Ok(());
    };
    let (namespace, name) = (&observed.marker.namespace, &observed.marker.cluster);
    let text = settings::text(&settings::of_cluster(spec), 0);
    let cluster = controller.base.stores().clusters.get(namespace, name);
    let Some(cluster) = cluster else {
        return Ok(());
    };
    if cluster.annotations().get(ANNOTATION_SETTINGS) == Some(&text) {
        return Ok(());
    }
    let annotations = json!({ (ANNOTATION_SETTINGS): text, (ANNOTATION_SETTINGS_KEPT): null });
    let change = json!({ "metadata": { "annotations": annotations } });
    patch::write(&controller.base.engine, cluster.as_ref(), change)
        .await
        .map(drop)
}

/// What the control plane was made with, as far as the watch shows: see [`live::made_with`].
fn of_others(controller: &Machines, observed: &Observed) -> Option<settings::Settings> {
    let machines = &controller.base.stores().machines;
    let cluster = observed.cluster.as_ref()?;
    let first = cluster.initialized_by.as_deref();
    let first = first.and_then(|uid| machines.by_uid(uid));
    let key = Key::ControlPlane(observed.marker.namespace.clone(), cluster.name.clone());
    live::made_with(observed, first.as_deref(), &machines.by(&key))
}

/// Why the node of a Machine may not begin to follow by now. Only one of a cluster does at a time.
pub(super) fn may_begin(controller: &Machines, observed: &Observed) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    let spec = cluster.spec.as_ref().ok()?;
    if live::goes_on(observed) {
        return None;
    }
    let stores = controller.base.stores();
    let cluster = stores
        .clusters
        .get(&observed.marker.namespace, &cluster.name)?;
    live::may_begin(observed, &*next(stores, &cluster, spec)?)
}

/// Writes the record of a Machine.
///
/// # Errors
/// `ReconcileError::Conflict`, `Api` and `NotLeading` as for any write.
pub(super) async fn write(
    controller: &Machines,
    observed: &Observed,
    record: &str,
) -> Result<ActionOutcome, ReconcileError> {
    let machine = observed.machine.as_ref();
    let annotation = machine.annotations().get(ANNOTATION_SETTINGS);
    if annotation.map(String::as_str) != Some(record) {
        let change = json!({ "metadata": { "annotations": { (ANNOTATION_SETTINGS): record } } });
        patch::write(&controller.base.engine, machine, change).await?;
    }
    Ok(ActionOutcome::Yes)
}

/// The Machine of a Cluster whose node follows the settings next: see [`next_to_follow`].
pub fn next(
    stores: &Stores,
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
) -> Option<Arc<Machine>> {
    let key = Key::Cluster(cluster.namespace().unwrap_or_default(), cluster.name_any());
    let is_paused = |machine: &Machine| paused_by(stores, machine).is_some();
    let is_ours = |machine: &Machine| machine.is_ours(stores);
    next_to_follow(&stores.machines.by(&key), spec, is_ours, is_paused)
}
