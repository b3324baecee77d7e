//! Finalizers of ours.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};

use crate::api::names::FINALIZER_IN_USE;

/// What a finalizer is added on: nothing can be added to an object that is being deleted already.
pub fn basis<K: Resource<DynamicType = ()>>(object: &K) -> Option<Time> {
    object.meta().deletion_timestamp.clone()
}

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

/// The finalizers of an object that bears [`FINALIZER_IN_USE`] exactly while it is `needed`; `None`
/// when it has just these.
pub fn held<K: Resource<DynamicType = ()>>(object: &K, needed: bool) -> Option<Vec<String>> {
    let is_held = object.finalizers().iter().any(|f| f == FINALIZER_IN_USE);
    match (needed, is_held) {
        (true, false) if basis(object).is_none() => Some(with(object, FINALIZER_IN_USE)),
        (false, true) => Some(without(object, FINALIZER_IN_USE)),
        _ => None,
    }
}
