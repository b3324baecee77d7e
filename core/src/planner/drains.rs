//! Workers that are drained one at a time for an update, and which of them goes before another.

use std::collections::BTreeSet;

use kube::ResourceExt;

use crate::api::Machine;
use crate::api::conditions::{ConditionType, Reason, find};
use crate::api::names::LABEL_MACHINE_DEPLOYMENT;
use crate::machine::reported;
use crate::settings;

/// The worker that is updated before this one, of those that are not drained together: its Node is
/// drained already, or it is at work and has the smaller name. `drained` has the names of the Nodes
/// that are cordoned by us; `is_paused` is asked of who is at work: condition `Paused` outlives the
/// pause by a moment, in which all of them would be drained.
pub fn ahead<'a>(
    machine: &Machine,
    others: impl IntoIterator<Item = &'a Machine>,
    drained: &BTreeSet<&str>,
    is_paused: impl Fn(&Machine) -> bool,
) -> Option<&'a Machine> {
    others.into_iter().find(|other| {
        let status = other.status.as_ref();
        let node = status.and_then(|status| status.node_ref.as_ref()?.name.as_deref());
        let is_drained = node.is_some_and(|node| drained.contains(node));
        let is_first =
            || other.name_any() < machine.name_any() && is_at_work(other) && !is_paused(other);
        other.uid() != machine.uid()
            && other.metadata.deletion_timestamp.is_none()
            && (is_drained || is_first())
            && are_drained_apart(machine, other)
    })
}

/// The Machines whose update was begun, of those that are not drained together with this one, and
/// their Nodes: one of them may have been drained since the Nodes were seen last.
pub fn begun<'a>(
    machine: &Machine,
    others: impl IntoIterator<Item = &'a Machine>,
) -> Vec<(&'a Machine, &'a str)> {
    let node = |other: &'a Machine| {
        let status = other.status.as_ref()?;
        let is_begun = reported::update_is_begun(other) || settings::is_unfinished(other);
        status
            .node_ref
            .as_ref()?
            .name
            .as_deref()
            .filter(|_| is_begun)
    };
    let others = others.into_iter().filter(|other| {
        other.uid() != machine.uid()
            && other.metadata.deletion_timestamp.is_none()
            && are_drained_apart(machine, other)
    });
    others
        .filter_map(|other| Some((other, node(other)?)))
        .collect()
}

/// What fails, or waits for something else than its drain, holds nobody before its Node is drained.
fn is_at_work(machine: &Machine) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let of = |name| find(&status.conditions, name).map(|condition| condition.reason.as_str());
    let work = [
        Reason::KubeadmUpgrade,
        Reason::KubeletUpdate,
        Reason::Draining,
        // of its drain, for which another goes before it
        Reason::WaitingForTurn,
    ];
    let updating = of(ConditionType::Updating);
    // its step was refused: another follows the settings first
    let is_refused = of(ConditionType::UpToDate) == Some(Reason::WaitingForTurn.as_str())
        && updating != Some(Reason::WaitingForTurn.as_str());
    work.iter().any(|reason| updating == Some(reason.as_str())) && !is_refused
}

/// Whether of two workers one at a time is drained for an update: both have no controller; or they
/// are of one MachineDeployment, which counts those whose versions move, and one of the two follows
/// the settings of the Cluster instead.
fn are_drained_apart(one: &Machine, other: &Machine) -> bool {
    if one.is_control_plane() || other.is_control_plane() {
        return false;
    }
    let deployments = [one, other].map(|machine| machine.labels().get(LABEL_MACHINE_DEPLOYMENT));
    match (one.is_owned(), other.is_owned()) {
        (false, false) => true,
        (true, true) => {
            // one whose version moved has no such record when its new kubelet has reported
            let follows = |machine: &Machine| {
                machine.runs_other() == Some(false) && settings::is_unfinished(machine)
            };
            deployments[0].is_some()
                && deployments[0] == deployments[1]
                && (follows(one) || follows(other))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::names::ANNOTATION_SETTINGS;

    /// Owner, MachineDeployment, the version that runs where v1.36.3 is wanted, and whether it was
    /// begun to follow settings.
    type Kind = (&'static str, &'static str, &'static str, bool);
    const FOLLOWS: Kind = ("old", "md", "v1.36.3", true);
    const MOVES: Kind = ("new", "md", "v1.35.4", false);
    const MOVED: Kind = ("new", "md", "v1.36.3", false);
    const OTHER: Kind = ("x", "other", "v1.35.4", false);
    const ALONE: Kind = ("", "", "v1.35.4", false);

    fn machine(name: &str, (owner, deployment, runs, follows): Kind) -> Machine {
        let owners = json!([{ "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "name": owner, "uid": owner, "controller": true }]);
        let owners = if owner.is_empty() { json!([]) } else { owners };
        let record = if follows { r#"{"applying":{}}"# } else { "{}" };
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "uid": name, "ownerReferences": owners,
                "labels": { (LABEL_MACHINE_DEPLOYMENT): deployment },
                "annotations": { (ANNOTATION_SETTINGS): record },
            },
            "spec": { "versions": { "kubelet": "v1.36.3" } },
            "status": { "versions": { "kubelet": runs }, "nodeRef": { "name": name } },
        }))
        .expect("a Machine")
    }

    fn says(mut machine: Machine, conditions: &[(&str, &str, &str)]) -> Machine {
        let condition = |(type_, status, reason): &(&str, &str, &str)| {
            json!({
                "type": type_, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let conditions: Vec<_> = conditions.iter().map(condition).collect();
        let status = machine.status.as_mut().expect("a status");
        status.conditions = serde_json::from_value(json!(conditions)).expect("conditions");
        machine
    }

    #[test]
    fn a_worker_that_follows_settings_is_not_drained_beside_one_whose_version_moves() {
        let table = [
            (FOLLOWS, MOVES, true),
            (FOLLOWS, FOLLOWS, true),
            (MOVES, MOVES, false),
            (MOVES, MOVED, false),
            (FOLLOWS, OTHER, false),
            (ALONE, ALONE, true),
            (ALONE, MOVES, false),
        ];
        for (one, other, apart) in table {
            let (one, other) = (machine("a", one), machine("b", other));
            assert_eq!(are_drained_apart(&one, &other), apart, "{one:?} {other:?}");
            assert_eq!(are_drained_apart(&other, &one), apart, "{one:?} {other:?}");
        }
    }

    #[test]
    fn another_may_be_drained_already_whose_update_was_begun() {
        let updating = |status| vec![("Updating", status, "VersionSkew")];
        let table = [
            (MOVES, updating("True"), true),
            (MOVES, updating("False"), false),
            (MOVES, vec![], false),
            (FOLLOWS, vec![], true),
            (OTHER, updating("True"), false),
        ];
        for (kind, conditions, expected) in table {
            let (own, other) = (machine("a", FOLLOWS), says(machine("b", kind), &conditions));
            let found: Vec<_> = begun(&own, [&own, &other])
                .into_iter()
                .map(|(_, node)| node)
                .collect();
            let wanted: &[&str] = if expected { &["b"] } else { &[] };
            assert_eq!(found, wanted, "{kind:?} {conditions:?}");
        }
        let mut leaves = says(machine("b", MOVES), &updating("True"));
        leaves.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
            ));
        assert!(begun(&machine("a", FOLLOWS), [&leaves]).is_empty());
    }

    #[test]
    fn one_of_two_goes_first_and_neither_waits_for_one_that_stands_still() {
        let updating = |reason| ("Updating", "True", reason);
        let refused = ("UpToDate", "False", "WaitingForTurn");
        // what the other says, and whether it goes before one with a greater name, and before one
        // with a smaller
        let table = [
            ("at work", vec![updating("KubeadmUpgrade")], (true, false)),
            ("drains", vec![updating("Draining")], (true, false)),
            (
                "waits to drain",
                vec![updating("WaitingForTurn"), refused],
                (true, false),
            ),
            (
                "may not begin",
                vec![updating("KubeadmUpgrade"), refused],
                (false, false),
            ),
            ("fails", vec![updating("UpdateFailed")], (false, false)),
            ("is not updated", vec![], (false, false)),
        ];
        for (case, conditions, (before_greater, before_smaller)) in table {
            let other = says(machine("m", MOVES), &conditions);
            let goes_before = |name, drained: &BTreeSet<&str>| {
                ahead(&machine(name, FOLLOWS), [&other], drained, |_| false).is_some()
            };
            let paused = ahead(&machine("z", FOLLOWS), [&other], &BTreeSet::new(), |_| true);
            assert_eq!(paused, None, "paused: {case}");
            let none = BTreeSet::new();
            assert_eq!(goes_before("z", &none), before_greater, "{case}");
            assert_eq!(goes_before("a", &none), before_smaller, "{case}");
            for name in ["a", "z"] {
                assert!(goes_before(name, &BTreeSet::from(["m"])), "drained: {case}");
            }
        }
    }
}
