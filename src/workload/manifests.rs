//! Manifests: YAML streams of several documents, parsed and sorted. No I/O.

use std::fmt;

use kube::core::GroupVersion;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use tatara_core::yaml::MANIFESTS;

/// One object of a manifest.
#[derive(Clone, Debug)]
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
    /// The object, as text: decoded, a few bytes of it take hundreds.
    pub object: Box<RawValue>,
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
    /// There are more objects than one attempt applies.
    #[error("{origin} has more than {OBJECTS} objects; distribute them over several addons")]
    Many {
        /// The stream.
        origin: String,
    },
    /// It is too long once its aliases are followed.
    #[error("{origin} has more than {} MiB as JSON; distribute it over several addons", MANIFESTS.scalars >> 20)]
    Long {
        /// The stream.
        origin: String,
    },
}

/// Objects of one stream.
const OBJECTS: usize = 2_000;

/// Parses a YAML stream as kubectl does: YAML 1.1 booleans and octal numbers (file modes); empty
/// documents are skipped, and a `v1 List` becomes its items. `source` is its name in messages.
///
/// # Errors
/// The stream is not valid YAML, or a document is not a Kubernetes object.
pub fn parse(source: &str, stream: &str) -> Result<Vec<Document>, ManifestError> {
    let documents: Vec<Value> =
        MANIFESTS
            .read(stream)
            .map_err(|problem| ManifestError::Syntax {
                origin: source.to_owned(),
                problem,
            })?;
    let mut read = Vec::with_capacity(documents.len());
    let mut bytes = 0;
    for (index, document) in documents.into_iter().enumerate() {
        let origin = format!("document {} of {source}", index + 1);
        let items = match list_items(&document) {
            Some(items) => items.iter().collect(),
            None => vec![&document],
        };
        for item in items {
            let one = read_one(&origin, item)?;
            bytes += one.object.get().len();
            let origin = || source.to_owned();
            if bytes > MANIFESTS.scalars {
                return Err(ManifestError::Long { origin: origin() });
            }
            if read.len() == OBJECTS {
                return Err(ManifestError::Many { origin: origin() });
            }
            read.push(one);
        }
    }
    Ok(read)
}

fn list_items(document: &Value) -> Option<&Vec<Value>> {
    let is_list = document["apiVersion"] == "v1" && document["kind"] == "List";
    document.get("items").filter(|_| is_list)?.as_array()
}

fn read_one(origin: &str, object: &Value) -> Result<Document, ManifestError> {
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
        object: raw(object).map_err(|error| ManifestError::Syntax {
            origin: origin.to_owned(),
            problem: error.to_string(),
        })?,
    })
}

fn raw(object: &Value) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(serde_json::to_string(object)?)
}

/// When an object is applied: prerequisites first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A Namespace.
    Namespace,
    /// A CustomResourceDefinition.
    Definition,
    /// Any other.
    Rest,
}

impl Rank {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Namespace, Self::Definition, Self::Rest];
}

impl Document {
    /// When it is applied.
    pub fn rank(&self) -> Rank {
        match (self.group_version.group.as_str(), self.kind.as_str()) {
            ("", "Namespace") => Rank::Namespace,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Rank::Definition,
            _ => Rank::Rest,
        }
    }
}

/// Sorts prerequisites first: Namespaces, then CustomResourceDefinitions, then the rest in their
/// order.
pub fn in_order(mut documents: Vec<Document>) -> Vec<Document> {
    documents.sort_by_key(Document::rank);
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
