//! Lays a user's part of a document over ours.
//!
//! Objects are merged deeply. Lists of named items, such as `extraArgs`, are merged by name; lists
//! of `certSANs` are united; of any other list the user's replaces it. A `null` is ignored. What
//! must not be overridden is refused before, by [`super::contradiction`].

use serde_json::{Map, Value};

/// The field whose lists are united: a certificate loses no name that we need.
pub(super) const UNITED: &str = "certSANs";

/// Ours with the user's over it. Merging the same part again changes nothing.
pub fn merge(ours: Value, user: &Map<String, Value>) -> Value {
    match ours {
        Value::Object(ours) => Value::Object(merge_objects(ours, user)),
        other => other,
    }
}

fn merge_objects(mut ours: Map<String, Value>, user: &Map<String, Value>) -> Map<String, Value> {
    for (field, theirs) in user {
        let merged = match (ours.remove(field), theirs) {
            (Some(own), Value::Null) => own,
            (None, Value::Null) => continue,
            (Some(Value::Object(own)), Value::Object(theirs)) => {
                Value::Object(merge_objects(own, theirs))
            }
            (Some(Value::Array(own)), Value::Array(theirs)) => {
                Value::Array(merge_lists(field, own, theirs))
            }
            (_, Value::Object(theirs)) => Value::Object(merge_objects(Map::new(), theirs)),
            (_, theirs) => theirs.clone(),
        };
        ours.insert(field.clone(), merged);
    }
    ours
}

fn merge_lists(field: &str, ours: Vec<Value>, user: &[Value]) -> Vec<Value> {
    if field == UNITED {
        return united(ours, user);
    }
    if is_named(&ours) && (user.is_empty() || is_named(user)) {
        return by_name(ours, user);
    }
    user.to_vec()
}

fn united(mut ours: Vec<Value>, user: &[Value]) -> Vec<Value> {
    for item in user {
        if !ours.contains(item) {
            ours.push(item.clone());
        }
    }
    ours
}

/// Ours that the user does not name, then all of the user's: kubeadm lets an argument stand twice.
fn by_name(mut ours: Vec<Value>, user: &[Value]) -> Vec<Value> {
    ours.retain(|own| !user.iter().any(|item| name_of(item) == name_of(own)));
    ours.extend_from_slice(user);
    ours
}

/// The name of a list's item, such as `v` of `{name: v, value: "2"}`.
pub(super) fn name_of(item: &Value) -> Option<&str> {
    item.get("name").and_then(Value::as_str)
}

/// Whether a list is one of named items.
pub(super) fn is_named(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|item| name_of(item).is_some())
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
