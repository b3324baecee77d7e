//! A running node follows the settings of its Cluster, once kubeadm's ConfigMaps have them: one
//! node of a cluster at a time.

use super::super::super::observed::Observed;
use super::super::{Action, gates};
use super::{not, versions};
use crate::api::conditions::{ConditionType, Finding, Reason, find};
use crate::api::{ClusterProviderSpec, Machine};
use crate::kubeadm::KubernetesVersion;
use crate::remedy;
use crate::settings::{self, Behind, Rollout};

/// The minor version of kubeadm since which a phase of `upgrade node` has `--config`.
const PHASES_WITH_SETTINGS: u64 = 32;

/// Whether condition `UpToDate` of a Machine says what a person has to mend before anything begins
/// there.
pub fn waits_for_person(machine: &Machine) -> bool {
    let reasons = [
        Reason::KubeletVersionDiffers,
        Reason::UnsupportedVersion,
        Reason::InvalidConfiguration,
        Reason::MarkerMissing,
    ];
    let conditions = machine.status.as_ref().map(|status| &status.conditions);
    let told = conditions.and_then(|all| find(all, ConditionType::UpToDate));
    told.is_some_and(|told| reasons.iter().any(|reason| told.reason == *reason))
}

/// In what its node is behind settings that it can follow now. One that has begun goes on with what
/// kubeadm's ConfigMaps have while these wait for another edit, and is not done by that.
pub(super) fn due(observed: &Observed) -> Option<Behind> {
    let is_unfinished = || settings::is_unfinished(&observed.machine);
    let waits = || spec(observed, Rollout::Waits).filter(|_| is_unfinished());
    let spec = spec(observed, Rollout::Goes).or_else(waits)?;
    let behind = settings::behind(&observed.machine, spec);
    behind.can_follow().then_some(behind)
}

fn spec(observed: &Observed, rollout: Rollout) -> Option<&ClusterProviderSpec> {
    let cluster = observed.cluster.as_ref()?;
    let spec = cluster.spec.as_ref().ok()?;
    (cluster.settings.rollout == rollout).then_some(spec)
}

/// Whether another version runs than is wanted, by what was seen last while its Node cannot be
/// read.
fn runs_other(observed: &Observed) -> Option<bool> {
    versions::runs_other(observed).or_else(|| observed.machine.runs_other())
}

/// Why its node does not follow now. One that has begun goes on; where the settings were edited
/// meanwhile, with the new ones.
pub(super) fn obstacle(observed: &Observed, is_begun: bool) -> Option<Finding> {
    // what has begun goes on, and another version has rules of its own
    if is_begun || versions::runs_other(observed) != Some(false) {
        return None;
    }
    let cluster = observed.cluster.as_ref()?;
    let differences = due(observed)?.sentences().join("; ");
    if let Some(why) = gates::refused(observed) {
        return Some(not(why.reason, format!("{differences}. {why}")));
    }
    let peers = &cluster.peers.versions;
    let before = cluster.peers.lane.follows_after.as_ref();
    // one that says so keeps its reason, by which others come first
    let before = before.filter(|_| !waits_for_person(&observed.machine));
    if let Some(before) = before.or(peers.updating.as_ref()) {
        let found = waits_for(observed, before);
        return Some(not(
            found.reason(),
            format!("{differences}; {}", found.message()),
        ));
    }
    // kubeadm would write static pods of the version that is newer
    let own = versions::control_plane(observed).map(|(runs, _)| runs);
    let newer = peers.newest_control_plane.as_ref();
    if let Some(newer) = newer.filter(|newer| own.is_some_and(|own| **newer > own)) {
        let message = format!(
            "{differences}; waiting until its version is {newer}, as that of another control plane: edit spec.versions, or replace the Machine"
        );
        return Some(not(Reason::VersionSkew, message));
    }
    let node = observed
        .known_node()
        .filter(|node| node.ready != Some(true))?;
    let message = format!(
        "{differences}; waiting until Node {} is Ready. If its machine is off, power it on; if it is lost: {}",
        node.name,
        remedy::machine::delete(&observed.marker.namespace, &observed.marker.machine)
    );
    Some(not(Reason::WaitingForNode, message))
}

/// It waits until another Machine has followed.
pub fn waits_for(observed: &Observed, other: &str) -> Finding {
    let look = remedy::describe_machine(&observed.marker.namespace, other);
    let message = format!(
        "waiting until Machine {other} has followed: one Node at a time. If that does not proceed: {look}; if its machine is off, power it on; only if it is lost for good, condition UpToDate of that Machine says whether it may be deleted"
    );
    not(Reason::WaitingForTurn, message)
}

/// The phases of `kubeadm upgrade node` that bring its node to the settings; `None` where another
/// version is wanted too, which takes all of them.
pub fn phases(observed: &Observed) -> Option<Vec<&'static str>> {
    // kubeadm's phases take its settings (--config) since v1.32
    let versions = observed.machine.versions()?;
    let kubeadm: KubernetesVersion = versions.control_plane.as_ref().map_or_else(
        || observed.cluster.as_ref()?.version.as_ref()?.parse().ok(),
        |version| version.parse().ok(),
    )?;
    let behind = due(observed).filter(|_| runs_other(observed) == Some(false))?;
    if kubeadm.minor() < PHASES_WITH_SETTINGS {
        return None;
    }
    let all = [
        ("control-plane", behind.concerns_static_pods()),
        ("kubelet-config", behind.concerns_kubelet()),
    ];
    let phases = all.into_iter().filter(|(_, concerned)| *concerned);
    Some(phases.map(|(phase, _)| phase).collect())
}

/// What is recorded before the first step.
pub(super) fn begin(observed: &Observed) -> Option<Action> {
    let spec = spec(observed, Rollout::Goes)?;
    due(observed)?;
    record(observed, settings::begun(&observed.machine, spec)?, true)
}

/// What is recorded after the last step.
pub(super) fn end(observed: &Observed) -> Option<Action> {
    due(observed)?;
    let spec = spec(observed, Rollout::Goes)?;
    record(
        observed,
        settings::followed(&observed.machine, spec)?,
        false,
    )
}

fn record(observed: &Observed, record: String, begins: bool) -> Option<Action> {
    let annotations = observed.machine.metadata.annotations.as_ref();
    let known = annotations.and_then(|all| all.get(crate::api::names::ANNOTATION_SETTINGS));
    (known != Some(&record)).then_some(Action::RecordSettings { record, begins })
}
