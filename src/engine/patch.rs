//! Writes to objects of the management cluster. Every write to an existing object carries its UID,
//! so that it neither recreates a deleted object nor changes another one of the same name.

use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Engine, ReconcileError};
use crate::store::InStores;
use tatara_core::api::crd::bounds::clip;
use tatara_core::api::readable::unreadable;
use tatara_core::finalizers;
pub use tatara_core::merge_patch::replacement;

/// Limit of retries after concurrent changes that do not matter to us.
const SWAPS: usize = 5;

/// Merges a change into an object if its `part`, on which the decision rests, is unchanged: a
/// compare-and-swap. After a concurrent change the object is read again from the API server; other
/// changes than of that part (a status, an annotation) are ignored.
///
/// # Errors
/// [`ReconcileError::Conflict`] if the part has changed or the object is deleted;
/// [`ReconcileError::Api`] if the API server refuses the write or does not answer.
pub async fn swap<K, P: PartialEq>(
    engine: &Engine,
    known: &K,
    part: impl Fn(&K) -> P,
    change: impl Fn(&K) -> Value,
) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let decided_upon = part(known);
    let _alone = engine.alone.write(known.uid().unwrap_or_default()).await;
    engine.must_lead()?;
    // our own writes since are in the cache
    let mut current = engine.freshest(known);
    if part(&current) != decided_upon {
        let (kind, namespace, name) = parts(known);
        let what = format!("write {kind} {namespace}/{name}");
        return Err(ReconcileError::Conflict { what });
    }
    for _ in 1..SWAPS {
        match swap_whole(engine, &current, change(&current)).await {
            Err(error) if error.is_conflict() => {
                current = live(engine, known).await?;
                if part(&current) != decided_upon {
                    return Err(error);
                }
            }
            result => return result,
        }
    }
    swap_whole(engine, &current, change(&current)).await
}

/// Removes a finalizer of ours, whatever else changed on the object.
///
/// # Errors
/// The object is deleted, or the API server refuses the write or does not answer.
pub async fn remove_finalizer<K>(
    engine: &Engine,
    known: &K,
    ours: &str,
) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let change =
        |object: &K| json!({ "metadata": { "finalizers": finalizers::without(object, ours) } });
    swap(engine, known, |_| (), change).await
}

/// Merges `change` into an object that is unchanged as a whole (same resourceVersion).
async fn swap_whole<K>(engine: &Engine, known: &K, change: Value) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let guard =
        json!({ "metadata": { "uid": known.uid(), "resourceVersion": known.resource_version() } });
    merge_alone(engine, known, guard, change, "").await
}

/// Merges `change` into an object, whatever else changed on it.
///
/// # Errors
/// The object is deleted, or the API server refuses the write or does not answer.
pub async fn write<K>(engine: &Engine, known: &K, change: Value) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    merge(
        engine,
        known,
        json!({ "metadata": { "uid": known.uid() } }),
        change,
        "",
    )
    .await
}

/// Merges `status` into the status of an object, cut to the limits of its definition.
///
/// # Errors
/// The object is deleted, or the API server refuses the write or does not answer.
pub async fn status<K>(engine: &Engine, known: &K, mut status: Value) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let guard = json!({ "metadata": { "uid": known.uid() } });
    clip(&mut status);
    merge(engine, known, guard, json!({ "status": status }), "status").await
}

/// The object, read from the API server.
///
/// # Errors
/// [`ReconcileError::Conflict`] if the object was deleted or recreated; [`ReconcileError::Api`] if
/// it cannot be read.
pub async fn live<K>(engine: &Engine, known: &K) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let (kind, namespace, name) = parts(known);
    let api: Api<K> = Api::namespaced(engine.client.clone(), &namespace);
    let object = api.get(&name).await;
    let object =
        object.map_err(|error| changed(format!("read {kind} {namespace}/{name}"), error))?;
    if object.uid() != known.uid() {
        return Err(ReconcileError::Conflict {
            what: format!("{kind} {namespace}/{name} was deleted and created again"),
        });
    }
    Ok(object)
}

async fn merge<K>(
    engine: &Engine,
    known: &K,
    guard: Value,
    change: Value,
    subresource: &str,
) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let _alone = engine.alone.write(known.uid().unwrap_or_default()).await;
    engine.must_lead()?;
    merge_alone(engine, known, guard, change, subresource).await
}

/// The same, for callers that hold the object's write lock.
async fn merge_alone<K>(
    engine: &Engine,
    known: &K,
    guard: Value,
    change: Value,
    subresource: &str,
) -> Result<K, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let (kind, namespace, name) = parts(known);
    if let Some(why) = unreadable(known) {
        let what = format!("write {kind} {namespace}/{name}");
        return Err(ReconcileError::other(
            what,
            format!("it cannot be read: {why}"),
        ));
    }
    let api: Api<K> = Api::namespaced(engine.client.clone(), &namespace);
    let mut body = guard;
    deep_merge(&mut body, change);
    let params = PatchParams {
        field_manager: Some(tatara_core::api::names::FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let what = format!("write {kind} {namespace}/{name}");
    let result = match subresource {
        "status" => api.patch_status(&name, &params, &Patch::Merge(&body)).await,
        _ => api.patch(&name, &params, &Patch::Merge(&body)).await,
    };
    let written: K = result.map_err(|error| changed(what, error))?;
    engine.learn(&written);
    Ok(written)
}

/// The deletion of an object is a concurrent change as well: the next pass sees it.
fn changed(what: String, error: kube::Error) -> ReconcileError {
    match &error {
        kube::Error::Api(status) if status.code == 404 => ReconcileError::Conflict { what },
        _ => ReconcileError::api(what)(error),
    }
}

fn parts<K: Resource<DynamicType = ()>>(object: &K) -> (String, String, String) {
    (
        K::kind(&()).into_owned(),
        object.namespace().unwrap_or_default(),
        object.name_any(),
    )
}

fn deep_merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                deep_merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Adds our finalizer while an object is `needed`, and removes it afterwards. Returns the object if
/// it was written.
///
/// # Errors
/// The object is deleted, or the API server refuses the write or does not answer.
pub async fn hold<K>(engine: &Engine, known: &K, needed: bool) -> Result<Option<K>, ReconcileError>
where
    K: InStores + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    if finalizers::held(known, needed).is_none() {
        return Ok(None);
    }
    let change = |object: &K| {
        let finalizers =
            finalizers::held(object, needed).unwrap_or_else(|| object.finalizers().to_vec());
        json!({ "metadata": { "finalizers": finalizers } })
    };
    let swapped = swap(engine, known, finalizers::basis, change).await;
    swapped.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_takes_away_what_is_wanted_no_more_and_leaves_out_what_is_the_same() {
        for (have, wanted, patch) in [
            (
                json!({"a": 1, "b": {"c": 2}}),
                json!({"a": 1, "b": {"c": 2}}),
                json!({}),
            ),
            (
                json!({"a": 1, "b": 2}),
                json!({"b": 3}),
                json!({"a": null, "b": 3}),
            ),
            (
                json!({"a": {"b": 1, "c": [1]}}),
                json!({"a": {"c": []}}),
                json!({"a": {"b": null, "c": []}}),
            ),
            (json!({"a": {"b": 1}}), json!({}), json!({"a": null})),
            (json!(null), json!({"a": 1}), json!({"a": 1})),
        ] {
            assert_eq!(replacement(&have, &wanted), patch, "{have} to {wanted}");
        }
    }
}
