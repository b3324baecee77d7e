//! Writes to objects of the management cluster. Every write to an existing object carries its UID, so
//! that nothing that was deleted is made again, and nothing lands on a namesake.

use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Engine, ReconcileError};
use crate::api::crd::bounds::clip;
use crate::api::readable::unreadable;
use crate::core::finalizers;
use crate::store::Stored;

/// How often somebody may come first with a change that does not matter to us.
const SWAPS: usize = 5;

/// Merges a change into an object of which the `part` that was decided upon is still as we know it: a
/// compare-and-swap. When somebody changed the object first, it is read again, live; a change of that
/// part is [`ReconcileError::Conflict`], and any other (a status, an annotation of somebody else) does
/// not keep us back.
pub async fn swap<K, P: PartialEq>(
    engine: &Engine,
    known: &K,
    part: impl Fn(&K) -> P,
    change: impl Fn(&K) -> Value,
) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let decided_upon = part(known);
    let _alone = engine.alone.write(known.uid().unwrap_or_default()).await;
    engine.must_lead()?;
    // what we wrote meanwhile is known already
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

/// Takes a finalizer of ours off an object, whatever else changed on it meanwhile.
pub async fn remove_finalizer<K>(
    engine: &Engine,
    known: &K,
    ours: &str,
) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let change =
        |object: &K| json!({ "metadata": { "finalizers": finalizers::without(object, ours) } });
    swap(engine, known, |_| (), change).await
}

/// Merges `change` into an object that is still as we know it, whole.
async fn swap_whole<K>(engine: &Engine, known: &K, change: Value) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let guard =
        json!({ "metadata": { "uid": known.uid(), "resourceVersion": known.resource_version() } });
    merge_alone(engine, known, guard, change, "").await
}

/// Merges `change` into an object, whatever else changed on it meanwhile.
pub async fn write<K>(engine: &Engine, known: &K, change: Value) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
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

/// Merges `status` into the status of an object, cut to what its definition lets through.
pub async fn status<K>(engine: &Engine, known: &K, mut status: Value) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let guard = json!({ "metadata": { "uid": known.uid() } });
    clip(&mut status);
    merge(engine, known, guard, json!({ "status": status }), "status").await
}

/// The object as the API server has it now.
pub async fn live<K>(engine: &Engine, known: &K) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let (kind, namespace, name) = parts(known);
    let api: Api<K> = Api::namespaced(engine.client.clone(), &namespace);
    let object = api.get(&name).await;
    let object =
        object.map_err(|error| changed(format!("read {kind} {namespace}/{name}"), error))?;
    if object.uid() != known.uid() {
        return Err(ReconcileError::Conflict {
            what: format!("{kind} {namespace}/{name} was deleted and made again"),
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
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    let _alone = engine.alone.write(known.uid().unwrap_or_default()).await;
    engine.must_lead()?;
    merge_alone(engine, known, guard, change, subresource).await
}

/// The same, for who writes the object alone already.
async fn merge_alone<K>(
    engine: &Engine,
    known: &K,
    guard: Value,
    change: Value,
    subresource: &str,
) -> Result<K, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
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
        field_manager: Some(crate::api::names::FIELD_MANAGER.into()),
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

/// An object that is gone was changed by somebody else as well: the next pass sees it.
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

/// The merge patch (RFC 7396) that makes `wanted` of what is there: a field that is left out would stay.
pub fn replacement(have: &Value, wanted: &Value) -> Value {
    let (Value::Object(have), Value::Object(wanted)) = (have, wanted) else {
        return wanted.clone();
    };
    let mut patch = serde_json::Map::new();
    for key in have.keys().filter(|key| !wanted.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in wanted {
        match have.get(key) {
            Some(same) if same == value => {}
            Some(other) => drop(patch.insert(key.clone(), replacement(other, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

/// Keeps an object from going while it is `needed`, and lets it go after. Returns it as it was written, if it was.
pub async fn hold<K>(engine: &Engine, known: &K, needed: bool) -> Result<Option<K>, ReconcileError>
where
    K: Stored + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + std::fmt::Debug,
{
    if finalizers::held(known, needed).is_none() {
        return Ok(None);
    }
    let change = |object: &K| {
        let finalizers =
            finalizers::held(object, needed).unwrap_or_else(|| object.finalizers().to_vec());
        json!({ "metadata": { "finalizers": finalizers } })
    };
    let deleted = |object: &K| object.meta().deletion_timestamp.clone();
    swap(engine, known, deleted, change).await.map(Some)
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
