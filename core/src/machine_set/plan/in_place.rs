//! What a changed template changes on Machines that are there: everything that needs no new
//! Machine.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use serde::Serialize;

use super::super::observed::{Observed, ObservedMachine};
use super::{Action, create};
use crate::api::machine::MachineDeletion;

/// What to write on a Machine. Maps hold only what is missing or differs: a key that was removed
/// from the template stays, because its owner is unknown by then. The others are replaced whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InPlace {
    /// For `metadata.labels`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// For `metadata.annotations`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// For `spec.metadata.labels`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// For `spec.metadata.annotations`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_annotations: BTreeMap<String, String>,
    /// The new `spec.taints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// The new `spec.deletion`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
}

/// Machines that differ from the template. Those in deletion are among them: a time limit that is
/// changed because a deletion hangs must reach the Machine that hangs, and a shorter one that is
/// written on that Machine stays.
pub fn changes(observed: &Observed, mine: &[&ObservedMachine]) -> Vec<Action> {
    let (labels, annotations) = (create::labels(observed), create::annotations(observed));
    let differing = mine.iter().filter(|machine| !machine.unreadable);
    let differing = differing.filter_map(|machine| {
        let changes = difference(observed, (&labels, &annotations), machine);
        (changes != InPlace::default()).then(|| Action::UpdateInPlace {
            name: machine.name.clone(),
            uid: machine.uid.clone(),
            changes,
        })
    });
    differing.collect()
}

fn difference(
    observed: &Observed,
    (labels, annotations): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    machine: &ObservedMachine,
) -> InPlace {
    let template = &observed.template;
    let spec = &template.spec;
    let have = machine.deletion.clone().unwrap_or_default();
    let mut deletion = spec.deletion.clone().unwrap_or_default();
    if machine.deleting.is_some() {
        deletion = shorter(&deletion, &have);
    }
    InPlace {
        labels: missing(labels, &machine.labels),
        annotations: missing(annotations, &machine.annotations),
        node_labels: missing(&spec.metadata.labels, &machine.node_labels),
        node_annotations: missing(&spec.metadata.annotations, &machine.node_annotations),
        taints: (spec.taints != machine.taints).then(|| spec.taints.clone()),
        deletion: (deletion != have).then_some(deletion),
    }
}

/// The shorter of each two time limits: absent or zero is none.
fn shorter(one: &MachineDeletion, other: &MachineDeletion) -> MachineDeletion {
    let of = |limit: fn(&MachineDeletion) -> Option<i64>| {
        let limits = [limit(one), limit(other)].into_iter().flatten();
        let least = limits.filter(|seconds| *seconds > 0).min();
        least.or(limit(one))
    };
    MachineDeletion {
        node_drain_timeout_seconds: of(|limits| limits.node_drain_timeout_seconds),
        node_volume_detach_timeout_seconds: of(|limits| limits.node_volume_detach_timeout_seconds),
        host_release_timeout_seconds: of(|limits| limits.host_release_timeout_seconds),
    }
}

fn missing(
    wanted: &BTreeMap<String, String>,
    have: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let differing = wanted
        .iter()
        .filter(|(key, value)| have.get(*key) != Some(*value));
    differing
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
