//! What the spec of a Cluster owns in kubeadm's record of it: whatever else stands there goes into
//! the certificate and the static pods of the next control plane that joins or is updated.

use serde_json::{Map, Value};

use super::change::{ChangeError, carry_items, read};
use super::config::ConfigError;
use super::difference::difference;
use super::documents;
use super::input::ClusterInput;
use super::merge::{UNITED, is_named, merge, name_of};

/// What is fixed for the life of a Cluster, by its place in `ClusterConfiguration`.
const FIXED: [&[&str]; 4] = [
    &["controlPlaneEndpoint"],
    &["networking", "dnsDomain"],
    &["networking", "podSubnet"],
    &["networking", "serviceSubnet"],
];

/// What a user sets, and an edit of the Cluster carries there: image repositories, and arguments.
/// Those that the Cluster does not set are nobody's.
const SETTINGS: [&[&str]; 7] = [
    &["imageRepository"],
    &["dns", "imageRepository"],
    &["etcd", "local", "imageRepository"],
    &["apiServer", "extraArgs"],
    &["controllerManager", "extraArgs"],
    &["scheduler", "extraArgs"],
    &["etcd", "local", "extraArgs"],
];

/// What of a record is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// What is fixed for the life of the Cluster.
    Fixed,
    /// Settings too: the user's part is what the record has by the last edit that was carried
    /// there, and none is on its way.
    WithSettings,
}

/// A record that differs from the spec of its Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The whole `ClusterConfiguration` as the spec has it, with nothing else changed.
    pub configuration: String,
    /// A sentence for each field that differed.
    pub differences: Vec<String>,
}

/// What differs in this `ClusterConfiguration`; `None` if nothing does. `user` is the user's part
/// of it, as last carried there.
///
/// # Errors
/// [`ChangeError`]: the document is no YAML, or the Cluster's own networks cannot be used.
pub fn owned(
    cluster: &ClusterInput,
    user: &Map<String, Value>,
    compared: Compared,
    document: &str,
) -> Result<Option<Owned>, ChangeError> {
    let ours = documents::of_cluster(cluster)?.cluster_configuration;
    let wanted = merge(ours, user);
    let before = read(document)?;
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
    // an argument is written in another way in other versions of the document
    if compared == Compared::WithSettings && before["apiVersion"] == wanted["apiVersion"] {
        for path in SETTINGS {
            let (last, parents) = path.split_last().map_or(("", path), |(l, p)| (*l, p));
            let of = parents
                .iter()
                .try_fold(user, |at, name| at.get(*name)?.as_object());
            match of.and_then(|of| of.get(last)) {
                None | Some(Value::Null) => (),
                // sets none; kubeadm writes its default in the place of an empty text
                Some(Value::Array(items)) if items.is_empty() => (),
                Some(Value::String(text)) if text.is_empty() => (),
                Some(value) => impose(field(&mut after, path), value),
            }
        }
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

/// Makes a field what the user set: of a list of arguments those that the user names, each where it
/// stands.
fn impose(there: &mut Value, user: &Value) {
    match user {
        Value::Array(items) if is_named(items) => {
            let own = there.as_array().into_iter().flatten();
            let is_set = |item: &&Value| items.iter().any(|set| name_of(set) == name_of(item));
            let own: Vec<Value> = own.filter(is_set).cloned().collect();
            if own != *items {
                carry_items(there, &own, items);
            }
        }
        value => *there = value.clone(),
    }
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
