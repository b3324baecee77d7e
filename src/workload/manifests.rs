//! Manifests: YAML streams of several documents, parsed and sorted. No I/O.

use std::fmt;

use kube::core::GroupVersion;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// One object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its origin, for messages: `document 2 of kube-flannel.yaml`.
    pub origin: String,
    /// API group and version.
    pub group_version: GroupVersion,
    /// Kind.
    pub kind: String,
    /// Namespace, if it has one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// The object.
    pub object: Value,
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ", self.origin, self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// Why a manifest cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not valid YAML.
    #[error("{origin} is not valid YAML: {problem}")]
    Syntax {
        /// The stream.
        origin: String,
        /// Error of the parser, with line and column.
        problem: String,
    },
    /// A document is not a Kubernetes object.
    #[error(
        "{origin}: {field} is missing; every document needs apiVersion, kind and metadata.name"
    )]
    Missing {
        /// The document.
        origin: String,
        /// The missing field.
        field: &'static str,
    },
    /// A document's apiVersion has more than one slash.
    #[error("{origin}: apiVersion {value:?} is not a group and version such as apps/v1")]
    ApiVersion {
        /// The document.
        origin: String,
        /// The value.
        value: String,
    },
}

/// Parses a YAML stream as kubectl does: YAML 1.1 booleans and octal numbers (file modes); empty
/// documents are skipped, and a `v1 List` becomes its items. `source` is its name in messages.
///
/// # Errors
/// The stream is not valid YAML, or a document is not a Kubernetes object.
pub fn parse(source: &str, stream: &str) -> Result<Vec<Document>, ManifestError> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let documents = serde_saphyr::from_multiple_with_options::<Value>(stream, options);
    let documents = documents.map_err(|error| ManifestError::Syntax {
        origin: source.to_owned(),
        problem: error.to_string(),
    })?;
    let mut read = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        let origin = format!("document {} of {source}", index + 1);
        match list_items(&document) {
            Some(items) => {
                for item in items {
                    read.push(read_one(&origin, item.clone())?);
                }
            }
            None => read.push(read_one(&origin, document)?),
        }
    }
    Ok(read)
}

fn list_items(document: &Value) -> Option<&Vec<Value>> {
    let is_list = document["apiVersion"] == "v1" && document["kind"] == "List";
    document.get("items").filter(|_| is_list)?.as_array()
}

fn read_one(origin: &str, object: Value) -> Result<Document, ManifestError> {
    let text = |pointer: &str| {
        let text = object.pointer(pointer).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let needed = |pointer: &str, field: &'static str| {
        let origin = origin.to_owned();
        text(pointer).ok_or(ManifestError::Missing { origin, field })
    };
    let api_version = needed("/apiVersion", "apiVersion")?;
    let group_version = api_version.parse::<GroupVersion>().ok();
    let group_version = group_version.filter(|parsed| !parsed.version.contains('/'));
    let group_version = group_version.ok_or_else(|| ManifestError::ApiVersion {
        origin: origin.to_owned(),
        value: api_version,
    })?;
    Ok(Document {
        origin: origin.to_owned(),
        group_version,
        kind: needed("/kind", "kind")?,
        namespace: text("/metadata/namespace"),
        name: needed("/metadata/name", "metadata.name")?,
        object,
    })
}

/// Sorts prerequisites first: Namespaces, then CustomResourceDefinitions, then the rest in their order.
pub fn in_order(mut documents: Vec<Document>) -> Vec<Document> {
    documents.sort_by_key(|document| {
        match (
            document.group_version.group.as_str(),
            document.kind.as_str(),
        ) {
            ("", "Namespace") => 0,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
            _ => 2,
        }
    });
    documents
}

/// A digest of named streams, which shows whether they changed since they were applied.
pub fn digest<'a>(streams: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    use std::fmt::Write as _;
    let mut hash = Sha256::new();
    for (name, text) in streams {
        // lengths distinguish ("a", "bc") from ("ab", "c")
        hash.update(name.len().to_be_bytes());
        hash.update(name);
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // writing to a String cannot fail
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
#[path = "manifests_tests.rs"]
mod tests;
