//! The manifests under `tests/fixtures/`, and what of one document is missing in another.

use std::path::PathBuf;

use serde_json::Value;

/// The documents of `tests/fixtures/FOLDER`, by file name, in order.
pub fn fixtures(folder: &str) -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let files = std::fs::read_dir(&folder).expect("the folder of fixtures");
    let mut found = files
        .map(|file| {
            let file = file.expect("a file");
            let text = std::fs::read_to_string(file.path()).expect("text");
            let value = serde_saphyr::from_str(&text);
            let name = file.file_name().into_string().expect("a name");
            (
                name.clone(),
                value.unwrap_or_else(|e| panic!("{name}: {e}")),
            )
        })
        .collect::<Vec<_>>();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "{} is empty", folder.display());
    found
}

/// Paths of what `whole` says and `other` does not say the same way. A null, an empty list and an
/// empty object say nothing.
pub fn missing(whole: &Value, other: &Value, path: &str) -> Vec<String> {
    match (whole, other) {
        (Value::Object(fields), Value::Object(others)) => fields
            .iter()
            .flat_map(|(name, field)| {
                let other = others.get(name).unwrap_or(&Value::Null);
                missing(field, other, &format!("{path}.{name}"))
            })
            .collect(),
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => items
            .iter()
            .zip(others)
            .enumerate()
            .flat_map(|(i, (item, other))| missing(item, other, &format!("{path}[{i}]")))
            .collect(),
        (Value::Null, _) => Vec::new(),
        (Value::Array(items), Value::Null) if items.is_empty() => Vec::new(),
        (Value::Object(fields), Value::Null) if fields.is_empty() => Vec::new(),
        (whole, other) if whole == other => Vec::new(),
        (whole, other) => vec![format!("{path}: {whole} became {other}")],
    }
}
