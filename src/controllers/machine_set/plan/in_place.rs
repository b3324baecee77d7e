//! What a changed template changes on Machines that are there: everything that needs no new Machine.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use serde::Serialize;

use super::super::observed::{Observed, ObservedMachine};
use super::{Action, create};
use crate::api::machine::MachineDeletion;

/// What to write on a Machine. Maps hold only what is missing or differs: a key that left the
/// template stays, because nobody can tell whose it is by then. The others are replaced whole.
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
/// changed because a deletion hangs must reach the Machine that hangs.
pub fn changes(observed: &Observed, mine: &[&ObservedMachine]) -> Vec<Action> {
    let labels = create::labels(observed);
    let differing = mine.iter().filter(|machine| !machine.unreadable);
    let differing = differing.filter_map(|machine| {
        let changes = difference(observed, &labels, machine);
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
    labels: &BTreeMap<String, String>,
    machine: &ObservedMachine,
) -> InPlace {
    let template = &observed.template;
    let spec = &template.spec;
    let deletion = spec.deletion.clone().unwrap_or_default();
    InPlace {
        labels: missing(labels, &machine.labels),
        annotations: missing(&create::annotations(observed), &machine.annotations),
        node_labels: missing(&spec.metadata.labels, &machine.node_labels),
        node_annotations: missing(&spec.metadata.annotations, &machine.node_annotations),
        taints: (spec.taints != machine.taints).then(|| spec.taints.clone()),
        deletion: (deletion != machine.deletion.clone().unwrap_or_default()).then_some(deletion),
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
