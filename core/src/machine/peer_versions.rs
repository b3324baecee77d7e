//! The versions of the other machines of its cluster, on which that of a Machine depends.

use kube::ResourceExt;

use crate::api::Machine;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::{ConditionType, Reason, Status, find, is_true};
use crate::api::machine::is_same_version;
use crate::kubeadm::{KubernetesVersion, version};
use crate::{NodeView, settings};

/// The versions of the other machines of its cluster, as far as that of a Machine depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerVersions {
    /// A control-plane Machine whose control plane is older than its spec wants: kubeadm's record
    /// in the cluster may be newer than what runs, and so nothing joins.
    pub updating: Option<String>,
    /// Name and version of a control-plane Machine that is behind kubeadm's record in the cluster,
    /// while the control plane moves to that; determined for a worker that has not joined.
    pub behind_record: Option<(String, KubernetesVersion)>,
    /// The newest version that another control-plane Machine of the cluster runs; determined for a
    /// control plane only.
    pub newest_control_plane: Option<KubernetesVersion>,
    /// Name and version of the oldest kubelet; determined for a control plane only.
    pub oldest_kubelet: Option<(String, KubernetesVersion)>,
}

/// The version that the API server of a Machine's own server reported last.
pub fn runs(machine: &Machine) -> Option<&str> {
    let status = machine.status.as_ref()?;
    status.versions.as_ref()?.control_plane.as_deref()
}

/// The newest version that one of these control-plane Machines runs.
pub fn newest<'a>(others: impl IntoIterator<Item = &'a Machine>) -> Option<KubernetesVersion> {
    let versions = others
        .into_iter()
        .filter_map(|other| runs(other)?.parse().ok());
    versions.max()
}

/// Another Machine that has the turn of an upgrade, and moves a version on which a join depends.
/// `holder`: that Machine, if it is known.
pub fn upgrading(
    turn: Option<&Turn>,
    machine: &Machine,
    for_control_plane: bool,
    holder: impl FnOnce(&str) -> Option<std::sync::Arc<Machine>>,
) -> Option<String> {
    let turn = turn.filter(|turn| turn.action == TurnAction::Upgrade)?;
    if machine.metadata.uid.as_ref() == Some(&turn.machine) {
        return None;
    }
    let moves = holder(&turn.machine).is_none_or(|one| moves_version(&one, for_control_plane));
    moves.then(|| turn.name.clone())
}

/// The first of these control-plane Machines that is on its way to another version. Not one that
/// waits for a kubelet, or that goes. `oldest_kubelet`: of the Nodes, which are walked only for one
/// that may be on its way.
pub fn first_updating<'a>(
    others: impl IntoIterator<Item = &'a Machine>,
    for_control_plane: bool,
    oldest_kubelet: impl FnOnce() -> Option<KubernetesVersion>,
) -> Option<String> {
    let is_on_its_way = |other: &Machine, kubelet: Option<&KubernetesVersion>| {
        let wanted = other.versions().and_then(|v| v.control_plane.as_deref());
        runs(other).zip(wanted).is_some_and(|(runs, wanted)| {
            is_updating(runs, wanted, kubelet)
                || (is_same_version(runs, wanted)
                    && lacks_kubelet(other)
                    && moves_version(other, for_control_plane))
        })
    };
    let stays = |other: &&Machine| other.metadata.deletion_timestamp.is_none();
    let mut others = others.into_iter().filter(stays);
    let first = others.find(|other| is_on_its_way(other, None))?;
    let oldest = oldest_kubelet();
    let mut all = [first].into_iter().chain(others);
    all.find(|other| is_on_its_way(other, oldest.as_ref()))
        .map(ResourceExt::name_any)
}

/// Its update has begun, and its kubelet follows. It may have returned the turn while etcd cannot
/// do without its member.
fn lacks_kubelet(machine: &Machine) -> bool {
    let wanted = machine.versions().map(|versions| &versions.kubelet);
    machine.status.as_ref().is_some_and(|status| {
        let runs = status.versions.as_ref().map(|versions| &versions.kubelet);
        is_true(&status.conditions, ConditionType::Updating)
            && !runs
                .zip(wanted)
                .is_some_and(|(runs, wanted)| is_same_version(runs, wanted))
    })
}

/// Whether a control plane of this version is on its way to the one that is wanted. It is not while
/// it waits for this kubelet, the oldest.
pub fn is_updating(runs: &str, wanted: &str, kubelet: Option<&KubernetesVersion>) -> bool {
    match (runs.parse(), wanted.parse()) {
        (Ok(runs), Ok(wanted)) => {
            let kubelet = kubelet.map(|version| ("", version));
            wanted > runs
                && version::check_control_plane_step(&runs, &wanted).is_ok()
                && version::check_kubelets_follow(&wanted, kubelet).is_ok()
        }
        _ => false,
    }
}

/// Whether a control-plane Machine whose update is under way moves a version on which a join
/// depends. Its API server may have the new version before kubeadm has ended, so that counts until
/// more is told: that it follows settings alone; or, for a worker that joins (not
/// `for_control_plane`), that its Node is drained, which comes after kubeadm and may wait for that
/// very worker.
pub fn moves_version(machine: &Machine, for_control_plane: bool) -> bool {
    let Some(status) = &machine.status else {
        return true;
    };
    let runs = status.versions.as_ref();
    let runs = runs.and_then(|versions| versions.control_plane.as_deref());
    let wanted = machine.versions();
    let wanted = wanted.and_then(|versions| versions.control_plane.as_deref());
    let has_version = runs
        .zip(wanted)
        .is_some_and(|(runs, wanted)| is_same_version(runs, wanted));
    let follows_settings =
        || machine.runs_other() == Some(false) && settings::is_unfinished(machine);
    let is_drained = || {
        let told = find(&status.conditions, ConditionType::Updating);
        told.is_some_and(|told| told.status == Status::True && told.reason == Reason::Draining)
    };
    !(has_version && (follows_settings() || (!for_control_plane && is_drained())))
}

/// A control-plane Machine that is not being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moving {
    /// Its name.
    pub name: String,
    /// The version that its own API server said last.
    pub runs: Option<KubernetesVersion>,
    /// The version that its spec wants.
    pub wants: Option<KubernetesVersion>,
}

/// The first by name of the control planes that run an older minor version than is recorded, while
/// one of them wants that. `None` while they wait for the oldest kubelet, which may wait for the
/// one that joins.
pub fn behind_record(
    recorded: &KubernetesVersion,
    control_planes: Vec<Moving>,
    oldest_kubelet: impl FnOnce() -> Option<KubernetesVersion>,
) -> Option<(String, KubernetesVersion)> {
    let is_wanted = |one: &Moving| {
        let wants = one.wants.as_ref();
        wants.is_some_and(|wants| wants.minor() >= recorded.minor())
    };
    if !control_planes.iter().any(is_wanted) {
        return None;
    }
    let behind = control_planes.into_iter().filter_map(|one| {
        let runs = one.runs.filter(|runs| runs.minor() < recorded.minor())?;
        Some((one.name, runs))
    });
    let first = behind.min_by(|(one, _), (other, _)| one.cmp(other))?;
    let kubelet = oldest_kubelet();
    let kubelet = kubelet.as_ref().map(|version| ("", version));
    let follows = version::check_kubelets_follow(recorded, kubelet);
    follows.is_ok().then_some(first)
}

/// The oldest kubelet of these Nodes. One whose version cannot be read does not count.
pub fn oldest_kubelet<'a>(
    nodes: impl Iterator<Item = &'a NodeView>,
) -> Option<(String, KubernetesVersion)> {
    nodes
        .filter_map(|node| Some((node.name.clone(), node.kubelet_version.parse().ok()?)))
        .min_by_key(|(_, version): &(_, KubernetesVersion)| version.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::names::ANNOTATION_SETTINGS;

    #[test]
    fn a_control_plane_is_on_its_way_up_alone() {
        let table = [
            ("v1.35.4", "v1.36.3", true),
            ("v1.36.2", "v1.36.3", true),
            ("v1.36.3", "v1.36.3", false),
            // neither is done, so that nobody waits for it
            ("v1.36.3", "v1.36.2", false),
            ("v1.34.0", "v1.36.3", false),
            ("", "v1.36.3", false),
        ];
        for (runs, wanted, expected) in table {
            assert_eq!(
                is_updating(runs, wanted, None),
                expected,
                "{runs} to {wanted}"
            );
        }
        let kubelet = |text: &str| text.parse::<KubernetesVersion>().expect("a version");
        for (behind, expected) in [("v1.32.9", false), ("v1.33.0", true)] {
            let waits = is_updating("v1.35.4", "v1.36.3", Some(&kubelet(behind)));
            assert_eq!(waits, expected, "{behind}");
        }
    }

    #[test]
    fn a_control_plane_is_behind_the_record_while_one_moves_to_that() {
        // what the control planes run and want, beside the oldest kubelet
        type Machines = &'static [(&'static str, &'static str)];
        const OLD: (&str, &str) = ("v1.35.4", "v1.35.4");
        const NEW: (&str, &str) = ("v1.36.3", "v1.36.3");
        const JOINS: (&str, &str) = ("", "v1.36.3");
        let version = |text: &str| text.parse::<KubernetesVersion>().ok();
        let table: [(&str, Machines, &str, Option<&str>); 8] = [
            ("a rollout", &[NEW, OLD, OLD], "v1.35.4", Some("cp-1")),
            (
                "the first one joins",
                &[OLD, JOINS],
                "v1.35.4",
                Some("cp-0"),
            ),
            ("in place", &[("v1.35.4", "v1.36.3")], "", Some("cp-0")),
            ("all have moved", &[NEW, NEW], "v1.35.4", None),
            // the record was raised for one that is gone: nobody moves
            ("given up", &[OLD, OLD], "v1.35.4", None),
            ("by a patch version", &[("v1.36.1", "v1.36.3")], "", None),
            // the worker that takes the place of that kubelet would wait for what waits for it
            ("a kubelet is left behind", &[NEW, OLD], "v1.32.9", None),
            ("not ours", &[], "", None),
        ];
        for (case, machines, kubelet, expected) in table {
            let machines = machines.iter().enumerate();
            let moving = machines.map(|(index, (runs, wants))| Moving {
                name: format!("cp-{index}"),
                runs: version(runs),
                wants: version(wants),
            });
            let recorded = version("v1.36.3").expect("a version");
            let found = behind_record(&recorded, moving.rev().collect(), || version(kubelet));
            let found = found.map(|(name, runs)| (name, runs.to_string()));
            let expected = expected.map(|name| (name.to_owned(), "v1.35.4".to_owned()));
            assert_eq!(found, expected, "{case}");
        }
    }

    /// A control-plane Machine of these versions (control plane, kubelet) that wants v1.36.3 and is
    /// updated for this reason.
    fn updated(runs: [&str; 2], reason: &str, settings: Option<&str>) -> Machine {
        let annotations = settings.map(|settings| (ANNOTATION_SETTINGS, settings));
        let annotations: std::collections::BTreeMap<_, _> = annotations.into_iter().collect();
        serde_json::from_value(json!({
            "metadata": { "name": "cp-1", "annotations": annotations },
            "spec": { "versions": { "kubelet": "v1.36.3", "controlPlane": "v1.36.3" } },
            "status": {
                "versions": { "controlPlane": runs[0], "kubelet": runs[1] },
                "conditions": [{
                    "type": "Updating", "status": "True", "reason": reason, "message": "",
                    "lastTransitionTime": "2026-11-27T00:00:00Z",
                }],
            },
        }))
        .expect("a Machine")
    }

    #[test]
    fn a_join_waits_for_a_change_that_moves_a_version_on_which_it_depends() {
        const OLD: &str = "v1.35.4";
        const NEW: &str = "v1.36.3";
        let begun = Some(r#"{"applying":{}}"#);
        // who is updated, and whether a worker and a control plane wait for it
        let table = [
            (
                "kubeadm runs",
                [OLD, OLD],
                "KubeadmUpgrade",
                None,
                [true; 2],
            ),
            (
                "its API server is new, and kubeadm runs",
                [NEW, OLD],
                "KubeadmUpgrade",
                None,
                [true; 2],
            ),
            (
                "it is drained for its kubelet, and a worker is needed for that",
                [NEW, OLD],
                "Draining",
                None,
                [false, true],
            ),
            (
                "drained, and its control plane is old",
                [OLD, OLD],
                "Draining",
                None,
                [true; 2],
            ),
            (
                "settings alone, which fail",
                [NEW, NEW],
                "UpdateFailed",
                begun,
                [false; 2],
            ),
            (
                "settings beside a version",
                [NEW, OLD],
                "UpdateFailed",
                begun,
                [true; 2],
            ),
            (
                "nothing is recorded of settings",
                [NEW, NEW],
                "UpdateFailed",
                None,
                [true; 2],
            ),
        ];
        for (case, runs, reason, settings, expected) in table {
            let machine = updated(runs, reason, settings);
            let found =
                [false, true].map(|is_control_plane| moves_version(&machine, is_control_plane));
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn the_oldest_kubelet_is_found_by_number() {
        let node = |name: &str, version: &str| NodeView {
            name: name.into(),
            kubelet_version: version.into(),
            ..NodeView::default()
        };
        let nodes = [node("a", "v1.36.3"), node("b", "v1.35.10"), node("c", "?")];
        let (name, version) = oldest_kubelet(nodes.iter()).expect("one");
        assert_eq!(
            (name.as_str(), version.to_string().as_str()),
            ("b", "v1.35.10")
        );
        assert_eq!(oldest_kubelet([].iter()), None);
    }
}
