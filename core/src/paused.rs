//! Whether an object says itself that it is to be held still.

use kube::{Resource, ResourceExt};

use crate::api::names::ANNOTATION_PAUSED;

/// The object, if its own annotation stops it.
pub fn itself<K: Resource<DynamicType = ()>>(object: &K) -> Option<String> {
    let is_paused = object.annotations().contains_key(ANNOTATION_PAUSED);
    is_paused.then(|| format!("{} {}", K::kind(&()), object.name_any()))
}
