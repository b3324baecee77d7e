//! kubeadm's ConfigMaps in the cluster follow the settings of the Cluster. Only what was edited
//! changes in them.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::Clusters;
use crate::engine::{ActionOutcome, ReconcileError, patch};
use crate::workload::error::Error;
use crate::workload::kubeadm_config;
use tatara_core::Key;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::names::{
    ANNOTATION_ADDONS_DUE, ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_KEPT,
    ANNOTATION_SETTINGS_WRITING,
};
use tatara_core::api::{Cluster, ClusterProviderSpec, Machine};
use tatara_core::cluster::live::settings::{self as live, Edit, Edited};
use tatara_core::cluster::{Moves, Observed};
use tatara_core::kubeadm::record::version as recorded_version;
use tatara_core::kubeadm::{ClusterInput, Endpoint, Kept, KubernetesVersion};
use tatara_core::settings::{self, CLUSTER, KUBE_PROXY, Settings};

const WHAT: &str = "apply the settings of the Cluster";

/// What kubeadm is told of a Cluster.
pub(super) fn input(
    cluster: &Cluster,
    spec: &ClusterProviderSpec,
    version: KubernetesVersion,
) -> ClusterInput {
    let endpoint = spec.control_plane_endpoint.as_ref();
    let endpoint = Endpoint {
        host: endpoint.map_or_else(|| "127.0.0.1".into(), |endpoint| endpoint.host.clone()),
        port: endpoint.map_or(6443, |endpoint| endpoint.port),
    };
    let network = &cluster.spec.cluster_network;
    ClusterInput::of(&cluster.name_any(), network, version, endpoint)
}

/// The settings that a control-plane Machine was made with, while the Cluster has no record of
/// them.
pub(super) fn made_with(controller: &Clusters, cluster: &Cluster) -> Option<Settings> {
    if cluster.annotations().contains_key(ANNOTATION_SETTINGS) {
        return None;
    }
    let key = Key::ControlPlane(cluster.namespace()?, cluster.name_any());
    let machines = controller.base.stores().machines.by(&key);
    let recorded = |field: &str| {
        let mut all = machines
            .iter()
            .filter_map(|machine| settings::recorded(machine.annotations()));
        // the one that ran kubeadm init knows of kube-proxy too
        all.find(|recorded| recorded.contains_key(field))
    };
    recorded(KUBE_PROXY).or_else(|| recorded(CLUSTER))
}

/// What moves the versions of a Cluster: `kubeadm upgrade` reads the ConfigMaps when it begins, and
/// writes them as they were then.
pub(super) fn moves(
    controller: &Clusters,
    cluster: &Cluster,
    turn: Option<&Turn>,
) -> Option<Moves> {
    if let Some(due) = cluster.annotations().get(ANNOTATION_ADDONS_DUE) {
        let key = Key::ControlPlane(cluster.namespace()?, cluster.name_any());
        // one that is being deleted may just be writing kubeadm's record
        let all = controller.base.stores().machines.by(&key);
        let is_forsaken = !all.iter().any(|machine| wants(machine, due));
        let recorded = controller.workloads.known.get(&cluster.uid()?);
        let recorded = recorded.recorded_of(cluster);
        return Some(Moves::of_addons(due, recorded.as_ref(), is_forsaken));
    }
    let turn = turn.filter(|turn| turn.action == TurnAction::Upgrade)?;
    let holder = controller.base.stores().machines.by_uid(&turn.machine)?;
    Moves::of_update(&holder, turn)
}

/// Whether a control plane is to run this version, or a newer one.
fn wants(machine: &Machine, version: &str) -> bool {
    let parsed = |version: &str| version.parse::<KubernetesVersion>().ok();
    let wanted = machine.versions().and_then(|v| v.control_plane.as_deref());
    wanted.and_then(parsed) >= parsed(version)
}

/// Forgets that kubeadm's addons are to follow to a version, if kubeadm's record was never raised
/// to it: the Machine that announced that was deleted before it wrote the record.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer; `Conflict`, `Api` and
/// `NotLeading` as for any write on the Cluster.
pub(super) async fn forget_addons(
    controller: &Clusters,
    cluster: &Cluster,
    version: &str,
) -> Result<(), ReconcileError> {
    let Some(workload) = controller.workloads.get(cluster) else {
        return Ok(());
    };
    let read = kubeadm_config::read(workload.client(), Kept::Cluster).await;
    let record = read.map_err(|error| failed(&error))?;
    let recorded = record.and_then(|record| recorded_version(&record.text));
    if !live::is_forsaken(recorded.as_ref(), version) {
        note(controller, cluster, recorded);
        return Ok(());
    }
    let change = json!({ "metadata": { "annotations": { (ANNOTATION_ADDONS_DUE): null } } });
    let now = |cluster: &Cluster| cluster.annotations().get(ANNOTATION_ADDONS_DUE).cloned();
    patch::swap(&controller.base.engine, cluster, now, |_| change.clone()).await?;
    tracing::info!(cluster = %cluster.name_any(), version, "no control plane has, or is to have, the version to which kubeadm's addons were to follow");
    Ok(())
}

/// Notes what kubeadm has recorded, and tells it in the next pass.
fn note(controller: &Clusters, cluster: &Cluster, recorded: Option<KubernetesVersion>) {
    let (known, uid) = (
        &controller.workloads.known,
        cluster.uid().unwrap_or_default(),
    );
    let is_news = known.get(&uid).recorded_of(cluster) != recorded;
    if let Some(recorded) = recorded.filter(|_| is_news) {
        known.update(&uid, |known| known.note_recorded(cluster, recorded));
        controller.base.wakers.clusters.wake_object(cluster);
    }
}

/// Records what kubeadm's ConfigMaps have.
///
/// # Errors
/// `ReconcileError::Conflict`, `Api` and `NotLeading` as for any write on the Cluster.
pub(super) async fn record(
    controller: &Clusters,
    cluster: &Cluster,
    settings: &Settings,
    kept: Option<&str>,
) -> Result<(), ReconcileError> {
    let annotations = json!({
        (ANNOTATION_SETTINGS): settings::text(settings, 0), (ANNOTATION_SETTINGS_KEPT): kept,
    });
    swap(controller, cluster, &annotations).await.map(drop)
}

/// Writes annotations, if nobody has recorded something else.
async fn swap(
    controller: &Clusters,
    cluster: &Cluster,
    annotations: &Value,
) -> Result<Cluster, ReconcileError> {
    let change = json!({ "metadata": { "annotations": annotations } });
    let records = [ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_WRITING];
    let now = |cluster: &Cluster| records.map(|name| cluster.annotations().get(name).cloned());
    patch::swap(&controller.base.engine, cluster, now, |_| change.clone()).await
}

/// Carries an edit into the ConfigMaps, and records it: before, that it is being written, and what
/// then. After a manager that was stopped in between it is done again.
///
/// # Errors
/// `ReconcileError::Other` when the workload cluster does not answer; `Conflict`, `Api` and
/// `NotLeading` as for any write on the Cluster.
pub(super) async fn apply(
    controller: &Clusters,
    observed: &Observed,
    from: &[Settings],
    to: &Settings,
) -> Result<ActionOutcome, ReconcileError> {
    let cluster = observed.cluster.as_ref();
    let (Ok(spec), Some(workload)) = (&observed.spec, controller.workloads.get(cluster)) else {
        return Ok(ActionOutcome::Yes);
    };
    let begun = match live::begun(cluster, to) {
        None => cluster.clone(),
        Some(writing) => {
            let begun = json!({ (ANNOTATION_SETTINGS_WRITING): json!(writing).to_string() });
            swap(controller, cluster, &begun).await?
        }
    };
    // the version is no setting, and the same before and after
    let input = &input(cluster, spec, KubernetesVersion::newest());
    let edit = Edit {
        cluster,
        input,
        from,
        to,
    };
    let documents = Kept::ALL.into_iter();
    for document in documents.filter(|document| edit.concerns(*document)) {
        let read = kubeadm_config::read(workload.client(), document).await;
        let record = read.map_err(|error| failed(&error))?;
        let text = record.as_ref().map(|record| &*record.text);
        let edited = match edit.of(document, text) {
            Ok(Edited::Absent) => continue,
            Ok(edited) => edited,
            Err(why) => return Ok(refused(&why)),
        };
        controller.base.engine.must_lead()?;
        if let (Edited::Text(text), Some(record)) = (edited, &record) {
            let written = kubeadm_config::write(workload.client(), record, &text).await;
            written.map_err(|error| failed(&error))?;
        }
        if document == Kept::KubeProxy {
            let digest = settings::digest_of(&settings::part(to, document));
            let restarted = kubeadm_config::restart_kube_proxy(workload.client(), &digest).await;
            restarted.map_err(|error| failed(&error))?;
        }
    }
    let number = settings::number(cluster).saturating_add(1);
    let done = json!({
        (ANNOTATION_SETTINGS): settings::text(to, number),
        (ANNOTATION_SETTINGS_WRITING): null, (ANNOTATION_SETTINGS_KEPT): null,
    });
    swap(controller, &begun, &done).await?;
    tracing::info!(cluster = %cluster.name_any(), "kubeadm's ConfigMaps have the settings of the Cluster");
    Ok(ActionOutcome::Yes)
}

fn refused(why: &str) -> ActionOutcome {
    let message = format!("{why}. Until then, no node gets the settings");
    ActionOutcome::Failed(ReconcileError::other(WHAT, message))
}

fn failed(error: &Error) -> ReconcileError {
    ReconcileError::other(WHAT, error.sentence())
}
