//! Finalizers of ours.

use kube::{Resource, ResourceExt};

use crate::api::names::FINALIZER_IN_USE;

/// The finalizers of an object with ours added.
pub fn with<K: Resource<DynamicType = ()>>(object: &K, ours: &str) -> Vec<String> {
    let mut finalizers = object.finalizers().to_vec();
    if !finalizers.iter().any(|finalizer| finalizer == ours) {
        finalizers.push(ours.to_owned());
    }
    finalizers
}

/// The finalizers of an object without ours.
pub fn without<K: Resource<DynamicType = ()>>(object: &K, ours: &str) -> Vec<String> {
    object
        .finalizers()
        .iter()
        .filter(|finalizer| *finalizer != ours)
        .cloned()
        .collect()
}

/// The finalizers of an object that bears [`FINALIZER_IN_USE`] exactly while it is `needed`; `None` when
/// it has just these. Nothing can be added to an object that is being deleted already.
pub fn held<K: Resource<DynamicType = ()>>(object: &K, needed: bool) -> Option<Vec<String>> {
    let is_held = object.finalizers().iter().any(|f| f == FINALIZER_IN_USE);
    match (needed, is_held) {
        (true, false) if object.meta().deletion_timestamp.is_none() => {
            Some(with(object, FINALIZER_IN_USE))
        }
        (false, true) => Some(without(object, FINALIZER_IN_USE)),
        _ => None,
    }
}
