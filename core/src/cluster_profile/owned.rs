//! The parts of a profile that Tatara wrote, according to its managedFields. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::api::names::FIELD_MANAGER;
use crate::api::{ClusterProfile, ClusterProfileStatus};

/// What we wrote of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnedFields {
    /// Labels of ours, with the values that they have now.
    pub labels: BTreeMap<String, String>,
    /// UIDs of the owners that we named.
    pub owners: BTreeSet<String>,
    /// Display name, if Tatara wrote it.
    pub display_name: Option<String>,
    /// Conditions, properties, access and version of ours; lists sorted by key.
    pub status: ClusterProfileStatus,
}

impl OwnedFields {
    /// Reads what field manager `tatara` applied.
    pub fn of(profile: &ClusterProfile) -> Self {
        let fields = fields_of(profile, "");
        let labels = names(&fields, "/f:metadata/f:labels");
        let owners = keys(&fields, "/f:metadata/f:ownerReferences", "uid");
        let display_name = fields.pointer("/f:spec/f:displayName");
        let of_status = fields_of(profile, "status");
        Self {
            labels: profile
                .labels()
                .iter()
                .filter(|(name, _)| labels.contains(*name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            owners: profile
                .owner_references()
                .iter()
                .map(|owner| owner.uid.clone())
                .filter(|uid| owners.contains(uid))
                .collect(),
            display_name: display_name.and_then(|_| profile.spec.display_name.clone()),
            status: owned_status(profile.status.clone().unwrap_or_default(), &of_status),
        }
    }

    /// Names of the parts that the API server stored differently from what was written.
    pub fn lost(
        &self,
        object: Option<&ClusterProfile>,
        status: Option<&ClusterProfileStatus>,
    ) -> Vec<&'static str> {
        let is_lost = object.is_some_and(|object| !self.is_object(object));
        let mut parts = vec![(is_lost, "labels, owner or spec")];
        if let Some(status) = status {
            let (kept, wanted) = (&self.status, status);
            let is = |conditions: &[Condition]| -> Vec<Condition> {
                let all = conditions.iter().cloned();
                // whole seconds are kept of a time
                all.map(|condition| Condition {
                    last_transition_time: Time(Timestamp::UNIX_EPOCH),
                    ..condition
                })
                .collect()
            };
            parts.extend([
                (
                    is(&kept.conditions) != is(&wanted.conditions),
                    "status.conditions",
                ),
                (kept.version != wanted.version, "status.version"),
                (kept.properties != wanted.properties, "status.properties"),
                (
                    kept.access_providers != wanted.access_providers,
                    "status.accessProviders",
                ),
            ]);
        }
        let lost = parts.into_iter().filter(|(is_lost, _)| *is_lost);
        lost.map(|(_, part)| part).collect()
    }

    /// Whether what we wrote of metadata and spec is what we would write. The manager's name cannot
    /// change.
    pub(super) fn is_object(&self, desired: &ClusterProfile) -> bool {
        let owners = desired
            .owner_references()
            .iter()
            .map(|owner| owner.uid.clone());
        self.labels == *desired.labels()
            && self.owners == owners.collect()
            && self.display_name == desired.spec.display_name
    }
}

fn owned_status(mut status: ClusterProfileStatus, fields: &Value) -> ClusterProfileStatus {
    let conditions = keys(fields, "/f:status/f:conditions", "type");
    let properties = keys(fields, "/f:status/f:properties", "name");
    let providers = keys(fields, "/f:status/f:accessProviders", "name");
    status
        .conditions
        .retain(|condition| conditions.contains(&condition.type_));
    status
        .properties
        .retain(|property| properties.contains(&property.name));
    status
        .access_providers
        .retain(|provider| providers.contains(&provider.name));
    status.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    status.properties.sort_by(|a, b| a.name.cmp(&b.name));
    status.access_providers.sort_by(|a, b| a.name.cmp(&b.name));
    if fields.pointer("/f:status/f:version").is_none() {
        status.version = None;
    }
    status
}

/// What we applied to the object, or to a subresource of it.
fn fields_of(profile: &ClusterProfile, subresource: &str) -> Value {
    let mut entries = profile.managed_fields().iter().filter(|entry| {
        entry.manager.as_deref() == Some(FIELD_MANAGER)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default() == subresource
    });
    let fields = entries.next().and_then(|entry| entry.fields_v1.clone());
    fields.map(|fields| fields.0).unwrap_or_default()
}

/// Names of the fields under a map: `f:<name>`.
fn names(fields: &Value, pointer: &str) -> BTreeSet<String> {
    let map = fields.pointer(pointer).and_then(Value::as_object);
    let names = map
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("f:"));
    names.map(str::to_owned).collect()
}

/// Keys of the items under a list map: `k:{"name":"<key>"}`.
fn keys(fields: &Value, pointer: &str, key: &str) -> BTreeSet<String> {
    let items = fields.pointer(pointer).and_then(Value::as_object);
    let items = items
        .into_iter()
        .flatten()
        .filter_map(|(item, _)| item.strip_prefix("k:"));
    let keys = items.filter_map(|item| serde_json::from_str::<Value>(item).ok());
    keys.filter_map(|keys| Some(keys.get(key)?.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
#[path = "owned_tests.rs"]
mod tests;
