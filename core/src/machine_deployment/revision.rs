//! What makes two templates different enough to need other Machines, and what a set is called.
//!
//! What rolls is decided by comparing `versions` and the resolved provider spec for what they mean.
//! The hash only names the set: were it to change with a version of Tatara, nothing would roll.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::api::names::ANNOTATION_RESTARTED_AT;
use crate::api::{MachineTemplate, MachineVersions};
use crate::letters::letters;

/// Longest name of a set: its Machines carry it as a label.
const MAX_NAME: usize = 63;
/// Letters of a hash.
const HASH_LENGTH: usize = 10;
/// How many differing fields are named before the rest is only counted.
const SHOWN: usize = 4;

/// The part of a template that Machines must be replaced for.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    kubelet: Option<String>,
    control_plane: Option<String>,
    provider_spec: Value,
    /// When `tatara rollout restart` asked for other Machines of the same template.
    restarted: Option<String>,
}

impl Revision {
    /// What these versions and this resolved provider spec mean.
    pub fn new(versions: Option<&MachineVersions>, provider_spec: &Value) -> Self {
        let control_plane = versions.and_then(|v| v.control_plane.as_deref());
        let mut provider_spec = meaning(provider_spec);
        // The metadata of the embedded object reaches no machine.
        if let Some(map) = provider_spec.as_object_mut() {
            map.remove("metadata");
        }
        Self {
            kubelet: versions.map(|v| plain(&v.kubelet)),
            control_plane: control_plane.filter(|v| !v.is_empty()).map(plain),
            provider_spec,
            restarted: None,
        }
    }

    /// With the restart that these annotations ask for: those of a deployment's template, or of a
    /// set.
    #[must_use]
    pub fn restarted(mut self, annotations: &BTreeMap<String, String>) -> Self {
        self.restarted = annotations.get(ANNOTATION_RESTARTED_AT).cloned();
        self
    }

    /// Whether another one differs in the restart at most.
    pub fn repeats(&self, other: &Self) -> bool {
        self.without_restart() == other.without_restart()
    }

    /// The same template, never restarted.
    #[must_use]
    pub fn without_restart(&self) -> Self {
        Self {
            restarted: None,
            ..self.clone()
        }
    }

    /// Whether the provider specs mean the same.
    pub fn has_provider_spec_of(&self, other: &Self) -> bool {
        self.provider_spec == other.provider_spec
    }

    /// What a set with this template and these annotations means. Sets that a deployment made have
    /// the spec inline. The restart is on the set itself: managers of before copy a template's
    /// annotations to all sets.
    pub fn of_set(template: &MachineTemplate, annotations: &BTreeMap<String, String>) -> Self {
        let inline = template.spec.provider_spec.value.as_ref();
        Self::new(
            template.spec.versions.as_ref(),
            inline.unwrap_or(&Value::Null),
        )
        .restarted(annotations)
    }

    /// Ten letters that name this revision.
    pub fn hash(&self) -> String {
        let mut parts = json!([self.kubelet, self.control_plane, self.provider_spec]);
        // one that was never restarted has the name that it always had
        if let (Some(restarted), Some(parts)) = (&self.restarted, parts.as_array_mut()) {
            parts.push(json!(restarted));
        }
        letters(&Sha256::digest(parts.to_string().as_bytes()), HASH_LENGTH)
    }

    /// Which fields differ that cannot be changed on a Machine that runs: all but versions and
    /// `node.software`. A worker does not become a control plane either.
    pub fn needs_replacement(&self, wanted: &Self) -> Vec<String> {
        let role = |revision: &Self| revision.control_plane.as_ref().map(|_| "set".to_owned());
        let fixed = |revision: &Self| {
            let mut fixed = Self {
                kubelet: None,
                control_plane: role(revision),
                ..revision.clone()
            };
            let node = fixed.provider_spec.get_mut("node");
            if let Some(node) = node.and_then(Value::as_object_mut) {
                node.remove("software");
            }
            if fixed.provider_spec.get("node") == Some(&json!({}))
                && let Some(spec) = fixed.provider_spec.as_object_mut()
            {
                spec.remove("node");
            }
            fixed
        };
        fixed(self).differences(&fixed(wanted))
    }

    /// Which fields differ, by path. Values are shown of versions only: others may be secret.
    pub fn differences(&self, wanted: &Self) -> Vec<String> {
        let shown = [
            ("restart", &self.restarted, &wanted.restarted),
            ("versions.kubelet", &self.kubelet, &wanted.kubelet),
            (
                "versions.controlPlane",
                &self.control_plane,
                &wanted.control_plane,
            ),
        ];
        let show = |version: &Option<String>| version.clone().unwrap_or_else(|| "absent".into());
        let mut found: Vec<String> = shown
            .into_iter()
            .filter(|(_, have, want)| have != want)
            .map(|(field, have, want)| format!("{field} {} → {}", show(have), show(want)))
            .collect();
        let mut paths = Vec::new();
        differing_paths(
            "providerSpec",
            &self.provider_spec,
            &wanted.provider_spec,
            &mut paths,
        );
        let more = paths.len().saturating_sub(SHOWN);
        paths.truncate(SHOWN);
        found.extend(paths);
        if more > 0 {
            found.push(format!("{more} more fields"));
        }
        found
    }
}

/// `v1.36.3` and `1.36.3` are the same version.
fn plain(version: &str) -> String {
    version.strip_prefix('v').unwrap_or(version).to_owned()
}

/// A value with sorted keys and without fields that are explicitly null.
fn meaning(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| *key);
            let sorted = entries
                .into_iter()
                .map(|(key, value)| (key.clone(), meaning(value)));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(meaning).collect()),
        other => other.clone(),
    }
}

fn differing_paths(path: &str, have: &Value, want: &Value, found: &mut Vec<String>) {
    match (have, want) {
        _ if have == want => {}
        (Value::Object(have), Value::Object(want)) => {
            let keys: BTreeSet<&String> = have.keys().chain(want.keys()).collect();
            for key in keys {
                let at = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                differing_paths(&format!("{path}.{key}"), &at(have), &at(want), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// The name of a set, and the hash that keeps its Machines apart from those of its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetName {
    /// `<deployment>-<hash>`.
    pub name: String,
    /// The part after the deployment's name.
    pub hash: String,
}

/// The first free name for a set of this revision: where a set of another template, or of another
/// owner, has the name already, the hash gets a number behind it.
pub fn set_name(deployment: &str, revision: &Revision, taken: &BTreeSet<String>) -> SetName {
    let plain = revision.hash();
    let mut hash = plain.clone();
    let mut collisions = 0;
    loop {
        let name = format!("{}-{hash}", shortened(deployment, hash.len()));
        if !taken.contains(&name) {
            return SetName { name, hash };
        }
        collisions += 1;
        hash = format!("{plain}-{collisions}");
    }
}

fn shortened(deployment: &str, hash_length: usize) -> &str {
    let room = MAX_NAME - 1 - hash_length;
    let cut = deployment.get(..room).unwrap_or(deployment);
    cut.trim_end_matches(['-', '.'])
}

#[cfg(test)]
#[path = "revision_tests.rs"]
mod tests;
