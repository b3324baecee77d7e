//! What is wanted of a Node, and the patch that brings it about. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use serde_json::{Map, Value, json};

use crate::api::names::{ANNOTATION_CORDONED, ANNOTATION_SCALE_DOWN_DISABLED, CORDONED_AND_KEPT};

/// What is wanted of a Node; whatever it does not speak of stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    /// Labels: a value to set, `None` to remove.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations: a value to set, `None` to remove.
    pub annotations: BTreeMap<String, Option<String>>,
    /// Taints that shall be there. A taint is the same as another by key and effect.
    pub taints: Vec<Taint>,
    /// Taints that shall not be there, by key and effect.
    pub remove_taints: Vec<(String, String)>,
    /// Whether pods may be scheduled.
    pub scheduling: Option<Scheduling>,
}

/// Whether pods may be scheduled on a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Cordoned, and kept from the cluster autoscaler. [`ANNOTATION_CORDONED`] records it, unless
    /// somebody else had done it before.
    Cordoned,
    /// Uncordoned, and left to the autoscaler again, as far as that annotation says that it was
    /// Tatara's act.
    Restored,
}

impl From<Scheduling> for NodeChange {
    fn from(scheduling: Scheduling) -> Self {
        Self {
            scheduling: Some(scheduling),
            ..Self::default()
        }
    }
}

/// The merge patch that makes `node` as wanted, under the resourceVersion that was read; `None`
/// when it is so already.
pub fn patch_for(node: &Node, change: &NodeChange) -> Option<Value> {
    let meta = &node.metadata;
    let spec = node.spec.clone().unwrap_or_default();
    let mut metadata = Map::new();
    for (field, wanted, present) in [
        ("labels", &change.labels, &meta.labels),
        ("annotations", &change.annotations, &meta.annotations),
    ] {
        let differing = differing(wanted, present.as_ref());
        if !differing.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(differing));
        }
    }
    let mut patched_spec = Map::new();
    if let Some(taints) = changed_taints(&spec.taints.unwrap_or_default(), change) {
        patched_spec.insert("taints".to_owned(), json!(taints));
    }
    let is_cordoned = spec.unschedulable.unwrap_or_default();
    let annotation = |name: &str| meta.annotations.as_ref()?.get(name);
    let ours = annotation(ANNOTATION_CORDONED);
    let (record, kept) = match annotation(ANNOTATION_SCALE_DOWN_DISABLED) {
        // the user's, unless it is ours from before
        Some(_) if ours.map(String::as_str) != Some(CORDONED_AND_KEPT) => ("true", None),
        _ => (CORDONED_AND_KEPT, Some(json!("true"))),
    };
    // absent is how the API server writes a node that is not cordoned
    let scheduling = match change.scheduling {
        Some(Scheduling::Cordoned) if !is_cordoned => Some((json!(true), json!(record), kept)),
        Some(Scheduling::Restored) if let Some(ours) = ours => {
            let kept = (ours == CORDONED_AND_KEPT).then_some(Value::Null);
            Some((Value::Null, Value::Null, kept))
        }
        _ => None,
    };
    if let Some((unschedulable, record, kept)) = scheduling {
        patched_spec.insert("unschedulable".to_owned(), unschedulable);
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[ANNOTATION_CORDONED] = record;
        if let Some(kept) = kept {
            annotations[ANNOTATION_SCALE_DOWN_DISABLED] = kept;
        }
    }
    if metadata.is_empty() && patched_spec.is_empty() {
        return None;
    }
    metadata.insert("uid".to_owned(), json!(meta.uid));
    metadata.insert("resourceVersion".to_owned(), json!(meta.resource_version));
    Some(json!({"metadata": metadata, "spec": patched_spec}))
}

fn differing(
    wanted: &BTreeMap<String, Option<String>>,
    present: Option<&BTreeMap<String, String>>,
) -> Map<String, Value> {
    let differs = |key: &str, value: Option<&String>| present.and_then(|all| all.get(key)) != value;
    wanted
        .iter()
        .filter(|(key, value)| differs(key, value.as_ref()))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect()
}

/// The whole new list, since the API knows only whole lists of taints; `None` when it is the same.
fn changed_taints(present: &[Taint], change: &NodeChange) -> Option<Vec<Taint>> {
    let same = |a: &Taint, b: &Taint| a.key == b.key && a.effect == b.effect;
    let unwanted = |taint: &Taint| {
        let mut removed = change.remove_taints.iter();
        removed.any(|(key, effect)| taint.key == *key && taint.effect == *effect)
    };
    let mut taints: Vec<_> = present
        .iter()
        .filter(|taint| !unwanted(taint))
        .cloned()
        .collect();
    for wanted in &change.taints {
        match taints.iter_mut().find(|taint| same(taint, wanted)) {
            Some(taint) if taint.value == wanted.value => {}
            Some(taint) => taint.value.clone_from(&wanted.value),
            None => taints.push(wanted.clone()),
        }
    }
    (taints != present).then_some(taints)
}

#[cfg(test)]
#[path = "node_change_tests.rs"]
mod tests;
