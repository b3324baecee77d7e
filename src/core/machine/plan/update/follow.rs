//! A running node follows the settings of its Cluster, once kubeadm's ConfigMaps have them: one node of a cluster at a time.

use super::super::super::observed::Observed;
use super::super::Action;
use super::super::running::waits_for_record;
use super::not;
use crate::api::ClusterProviderSpec;
use crate::api::conditions::{Finding, Reason};
use crate::core::settings::{self, Behind, Rollout};

/// In what its node is behind settings that it can follow now.
pub(super) fn due(observed: &Observed) -> Option<Behind> {
    let spec = spec(observed, Rollout::Goes)?;
    let behind = settings::behind(&observed.machine, spec);
    behind.can_follow().then_some(behind)
}

fn spec(observed: &Observed, rollout: Rollout) -> Option<&ClusterProviderSpec> {
    let cluster = observed.cluster.as_ref()?;
    let spec = cluster.spec.as_ref().ok()?;
    (cluster.settings.rollout == rollout).then_some(spec)
}

/// Why its node does not follow now. One that has begun goes on; where the settings were edited meanwhile, with the new ones.
pub(super) fn obstacle(observed: &Observed, is_begun: bool) -> Option<Finding> {
    let cluster = observed.cluster.as_ref()?;
    if spec(observed, Rollout::Waits).is_some() {
        let message = waits_for_record(&cluster.name);
        return Some(not(Reason::Updating, message));
    }
    let neighbours = &cluster.neighbours;
    let before = neighbours.follows_before.as_ref();
    let before = before.or(neighbours.updating.as_ref());
    let before = before.filter(|_| !is_begun && super::runs_other(observed) == Some(false))?;
    let message = format!(
        "{}; waiting until Machine {before} has followed: one Node at a time. If that does not proceed: tatara describe machine {before} -n {}",
        due(observed)?.sentences().join("; "),
        observed.marker.namespace
    );
    Some(not(Reason::WaitingForTurn, message))
}

/// The phases of `kubeadm upgrade node` that bring its node to the settings; `None` where another version is wanted too, which
/// takes all of them.
pub fn phases(observed: &Observed) -> Option<Vec<&'static str>> {
    let behind = due(observed).filter(|_| super::runs_other(observed) == Some(false))?;
    let all = [
        ("control-plane", behind.concerns_static_pods()),
        ("kubelet-config", behind.concerns_kubelet()),
    ];
    let phases = all.into_iter().filter(|(_, concerned)| *concerned);
    Some(phases.map(|(phase, _)| phase).collect())
}

/// What is recorded before the first step.
pub(super) fn begin(observed: &Observed) -> Option<Action> {
    due(observed)?;
    let spec = spec(observed, Rollout::Goes)?;
    record(observed, settings::begun(&observed.machine, spec)?)
}

/// What is recorded after the last step.
pub(super) fn end(observed: &Observed) -> Option<Action> {
    due(observed)?;
    let spec = spec(observed, Rollout::Goes)?;
    record(observed, settings::followed(&observed.machine, spec)?)
}

fn record(observed: &Observed, text: String) -> Option<Action> {
    let annotations = observed.machine.metadata.annotations.as_ref();
    let known = annotations.and_then(|all| all.get(crate::api::names::ANNOTATION_SETTINGS));
    (known != Some(&text)).then_some(Action::RecordSettings(text))
}
