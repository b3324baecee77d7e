//! What the rest of its cluster means for the version of a Machine.

use crate::api::Machine;
use crate::api::conditions::{ConditionType, Reason, Status, find};
use crate::api::machine::is_same_version;
use crate::kubeadm::{KubernetesVersion, version};
use crate::{NodeView, settings};

/// The other machines of its cluster, as far as the version of this one depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// A control-plane Machine whose control plane is older than its spec wants: kubeadm's record in the cluster may be newer
    /// than what runs, and so nothing joins.
    pub updating: Option<String>,
    /// Name and version of a control-plane Machine that is behind kubeadm's record in the cluster, while the control plane moves to
    /// that; determined for a worker that has not joined.
    pub behind_record: Option<(String, KubernetesVersion)>,
    /// The newest version that another control-plane Machine of the cluster runs; determined for a control plane only.
    pub newest_control_plane: Option<KubernetesVersion>,
    /// Name and version of the oldest kubelet; determined for a control plane only.
    pub oldest_kubelet: Option<(String, KubernetesVersion)>,
    /// kubeadm's addons are to follow, and this is the Machine that sees to it.
    pub addons: Option<AddonsDue>,
    /// Another worker that is updated before this one, of those that are not drained together.
    pub ahead: Option<String>,
    /// Another Machine whose node follows the settings of the Cluster before this one; determined once it is behind.
    pub follows_before: Option<String>,
    /// Another Node takes ordinary pods, so that this one can be drained.
    pub take_pods: bool,
}

/// kubeadm's addons are to follow the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddonsDue {
    /// The version to which they are brought.
    pub version: String,
    /// A control-plane Machine that does not run it yet, or has not gone yet.
    pub waits_for: Option<String>,
}

/// Whether a control plane of this version is on its way to the one that is wanted. It is not while it waits for this kubelet,
/// the oldest.
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

/// Whether a control-plane Machine whose update is under way moves a version on which a join depends. Its API server may have the
/// new version before kubeadm has ended, so that counts until more is told: that it follows settings alone; or, for a worker that
/// joins (not `for_control_plane`), that its Node is drained, which comes after kubeadm and may wait for that very worker.
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

/// The first by name of the control planes that run an older minor version than is recorded, while one of them wants that.
/// `None` while they wait for the oldest kubelet, which may wait for the one that joins.
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

/// Whether ordinary pods are scheduled on a Node.
pub fn takes_pods(node: &NodeView) -> bool {
    let keeps_off = |effect: &str| effect == "NoSchedule" || effect == "NoExecute";
    let is_free = !node.taints.iter().any(|taint| keeps_off(&taint.effect));
    node.ready == Some(true) && !node.unschedulable && is_free
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
    use k8s_openapi::api::core::v1::Taint;

    use serde_json::json;

    use super::*;
    use crate::api::names::ANNOTATION_SETTINGS;
    use crate::kubeadm::CONTROL_PLANE_TAINT;

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

    /// A control-plane Machine of these versions (control plane, kubelet) that wants v1.36.3 and is updated for this reason.
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
    fn a_node_takes_pods_that_is_ready_and_kept_from_nobody() {
        let node = |change: fn(&mut NodeView)| {
            let mut node = NodeView {
                ready: Some(true),
                ..NodeView::default()
            };
            change(&mut node);
            takes_pods(&node)
        };
        let taint = |effect: &str| Taint {
            key: CONTROL_PLANE_TAINT.into(),
            effect: effect.into(),
            ..Taint::default()
        };
        assert!(node(|_| ()));
        assert!(node(|node| node.taints = vec![Taint {
            effect: "PreferNoSchedule".into(),
            ..Taint::default()
        }]));
        assert!(!node(|node| node.ready = None));
        assert!(!node(|node| node.unschedulable = true));
        for effect in ["NoSchedule", "NoExecute"] {
            let tainted = NodeView {
                ready: Some(true),
                taints: vec![taint(effect)],
                ..NodeView::default()
            };
            assert!(!takes_pods(&tainted), "{effect}");
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
