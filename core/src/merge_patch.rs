//! Merge patches (RFC 7396).

use serde_json::Value;

/// The merge patch (RFC 7396) from `have` to `wanted`: removed fields are null, because omitted
/// ones would remain.
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
