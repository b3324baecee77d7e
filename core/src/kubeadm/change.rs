//! An edit of the user's settings, carried into a document that kubeadm keeps in a ConfigMap: what
//! somebody else changed there stays.

use serde_json::{Map, Value};

use super::config::ConfigError;
use super::documents;
use super::input::ClusterInput;
use super::merge::{UNITED, is_named, merge, name_of};
use crate::yaml::RECORD;

/// A document that kubeadm keeps in a ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// `ClusterConfiguration`.
    Cluster,
    /// `KubeletConfiguration`.
    Kubelet,
    /// `KubeProxyConfiguration`.
    KubeProxy,
}

impl Kept {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cluster, Self::Kubelet, Self::KubeProxy];

    /// The name of its ConfigMap, in namespace `kube-system`.
    pub fn config_map(self) -> &'static str {
        match self {
            Self::Cluster => "kubeadm-config",
            Self::Kubelet => "kubelet-config",
            Self::KubeProxy => "kube-proxy",
        }
    }

    /// Its key there.
    pub fn key(self) -> &'static str {
        match self {
            Self::Cluster => "ClusterConfiguration",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "config.conf",
        }
    }

    /// What is wrong with it in a Cluster, and how it is restored.
    pub fn broken(self, cluster: &str, why: &str) -> String {
        let phase = match self {
            Self::Cluster => "upload-config kubeadm",
            Self::Kubelet => "upload-config kubelet",
            Self::KubeProxy => "addon kube-proxy",
        };
        format!(
            "ConfigMap kube-system/{} of Cluster {cluster}, key {}: {why}. Restore it from a backup; or, on a control plane, from a file with the settings of this cluster: kubeadm init phase {phase} --config FILE (without --config that writes defaults)",
            self.config_map(),
            self.key()
        )
    }
}

/// Why an edit could not be carried over.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The document is no YAML, or has no fields: which line, without its text, which is not ours
    /// to tell.
    #[error("{0}")]
    Unreadable(String),
    /// It has another version than the user's settings are written for.
    #[error(
        "its apiVersion is {found:?}, and the settings of the Cluster are written for {wanted}"
    )]
    OtherVersion {
        /// Its version.
        found: String,
        /// The version of Tatara's documents.
        wanted: String,
    },
    /// The Cluster's own settings cannot be used, or the document cannot be written as YAML.
    #[error(transparent)]
    Unusable(#[from] ConfigError),
}

impl ChangeError {
    /// Cause and remedy, of a document of this Cluster.
    pub fn sentence(&self, kept: Kept, cluster: &str) -> String {
        match self {
            Self::Unusable(error) => {
                format!("the settings of Cluster {cluster} cannot be used: {error}")
            }
            Self::Unreadable(_) | Self::OtherVersion { .. } => {
                kept.broken(cluster, &self.to_string())
            }
        }
    }
}

/// The document as data.
pub(super) fn read(document: &str) -> Result<Value, ChangeError> {
    let read: Value = RECORD
        .read_private(document)
        .map_err(ChangeError::Unreadable)?;
    match read {
        Value::Object(_) => Ok(read),
        _ => Err(ChangeError::Unreadable(
            "it is empty, or has no fields".into(),
        )),
    }
}

/// The document with the user's part changed from `old` to `new`; `None` where that changes nothing
/// in it.
///
/// # Errors
/// [`ChangeError`].
pub fn change(
    cluster: &ClusterInput,
    kept: Kept,
    document: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<Option<String>, ChangeError> {
    let ours = documents::of_cluster(cluster)?;
    let ours = match kept {
        Kept::Cluster => ours.cluster_configuration,
        Kept::Kubelet => ours.kubelet_configuration,
        Kept::KubeProxy => ours.kube_proxy_configuration,
    };
    let before = read(document)?;
    let version = |document: &Value| document["apiVersion"].as_str().unwrap_or("").to_owned();
    if version(&before) != version(&ours) {
        return Err(ChangeError::OtherVersion {
            found: version(&before),
            wanted: version(&ours),
        });
    }
    let (old, new) = (merge(ours.clone(), old), merge(ours, new));
    let mut after = before.clone();
    carry("", &mut after, &old, &new);
    if after == before {
        return Ok(None);
    }
    let written = serde_saphyr::to_string(&after).map_err(ConfigError::Yaml)?;
    Ok(Some(written))
}

/// Changes a field `there` in that in which `new` differs from `old`.
fn carry(field: &str, there: &mut Value, old: &Value, new: &Value) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => carry_fields(there, old, new),
        (Value::Null, Value::Object(new)) => carry_fields(there, &Map::new(), new),
        (Value::Object(old), Value::Null) => carry_fields(there, old, &Map::new()),
        _ => match (list(old), list(new)) {
            (Some(old), Some(new)) if field == UNITED => carry_names(there, old, new),
            (Some(old), Some(new)) if are_named(&[old, new, list(there).unwrap_or(&[])]) => {
                carry_items(there, old, new);
            }
            _ => *there = new.clone(),
        },
    }
}

fn carry_fields(there: &mut Value, old: &Map<String, Value>, new: &Map<String, Value>) {
    if !there.is_object() {
        *there = Value::Object(Map::new());
    }
    let Value::Object(fields) = there else { return };
    for name in old.keys().chain(new.keys()) {
        let of = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        let mut field = fields.remove(name).unwrap_or_default();
        carry(name, &mut field, &of(old), &of(new));
        if !field.is_null() {
            fields.insert(name.clone(), field);
        }
    }
}

/// Names of a certificate, in no order.
fn carry_names(there: &mut Value, old: &[Value], new: &[Value]) {
    let mut names = list(there).unwrap_or_default().to_vec();
    names.retain(|name| new.contains(name) || !old.contains(name));
    let added = new.iter().filter(|name| !old.contains(name));
    for name in added {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    *there = Value::Array(names);
}

/// The items of a list; one that is missing has none.
fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        Value::Null => Some(&[]),
        _ => None,
    }
}

fn are_named(lists: &[&[Value]]) -> bool {
    let mut filled = lists.iter().filter(|list| !list.is_empty()).peekable();
    filled.peek().is_some() && filled.all(|list| is_named(list))
}

/// Replaces the items of these names: kubeadm lets an argument stand twice.
pub(super) fn carry_items(there: &mut Value, old: &[Value], new: &[Value]) {
    let of = |list: &[Value], name: Option<&str>| -> Vec<Value> {
        let items = list.iter().filter(|item| name_of(item) == name);
        items.cloned().collect()
    };
    let mut items = list(there).unwrap_or_default().to_vec();
    let mut done: Vec<&str> = Vec::new();
    for name in old.iter().chain(new).filter_map(name_of) {
        let (old, new) = (of(old, Some(name)), of(new, Some(name)));
        if done.contains(&name) || old == new {
            continue;
        }
        done.push(name);
        let at = items.iter().position(|item| name_of(item) == Some(name));
        items.retain(|item| name_of(item) != Some(name));
        let at = at.unwrap_or(items.len()).min(items.len());
        items.splice(at..at, new);
    }
    *there = Value::Array(items);
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
