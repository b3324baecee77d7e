//! What the spec of a Cluster fixes for its life in kubeadm's record of it: whatever else stands there goes into the certificate
//! and the static pods of the next control plane that joins or is updated.

use serde_json::{Map, Value};

use super::change::ChangeError;
use super::config::ConfigError;
use super::difference::difference;
use super::documents;
use super::input::ClusterInput;
use super::merge::{UNITED, merge};

/// Where they stand in `ClusterConfiguration`.
const FIXED: [&[&str]; 4] = [
    &["controlPlaneEndpoint"],
    &["networking", "dnsDomain"],
    &["networking", "podSubnet"],
    &["networking", "serviceSubnet"],
];

/// A record that differs from the spec of its Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The whole `ClusterConfiguration` as the spec has it, with nothing else changed.
    pub configuration: String,
    /// A sentence for each field that differed.
    pub differences: Vec<String>,
}

/// What differs in this `ClusterConfiguration`; `None` if nothing does. `user` is the user's part of it.
///
/// # Errors
/// [`ChangeError`]: the document is no YAML, or the Cluster's own networks cannot be used.
pub fn owned(
    cluster: &ClusterInput,
    user: &Map<String, Value>,
    document: &str,
) -> Result<Option<Owned>, ChangeError> {
    let ours = documents::of_cluster(cluster)?.cluster_configuration;
    let wanted = merge(ours, user);
    let before: Value = serde_saphyr::from_str(document)
        .map_err(|error| ChangeError::Unreadable(error.to_string()))?;
    if !before.is_object() {
        return Err(ChangeError::Unreadable("it has no fields".into()));
    }
    let mut after = before.clone();
    for path in FIXED {
        let value = path.iter().try_fold(&wanted, |at, field| at.get(field));
        if let Some(value) = value.filter(|value| **value != "") {
            *field(&mut after, path) = value.clone();
        }
    }
    // a certificate has further names of whoever wrote them there
    let host = Value::from(cluster.endpoint.host.as_str());
    let names = field(&mut after, &["apiServer", UNITED]);
    match names {
        Value::Array(names) if names.contains(&host) => (),
        Value::Array(names) => names.push(host),
        other => *other = Value::Array(vec![host]),
    }
    let differences = difference(&before, &after);
    if differences.is_empty() {
        return Ok(None);
    }
    let configuration = serde_saphyr::to_string(&after).map_err(ConfigError::Yaml)?;
    Ok(Some(Owned {
        configuration,
        differences,
    }))
}

/// The field at a path, which is made where it is missing.
fn field<'a>(document: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(document, |at, name| {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        &mut at[*name]
    })
}

#[cfg(test)]
#[path = "owned_tests.rs"]
mod tests;
