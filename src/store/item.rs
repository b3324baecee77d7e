//! One object of a list or watch, decoded by itself, so that a malformed object does not affect
//! others. An object that cannot be decoded as a whole is decoded field by field and stored with
//! all readable fields, so that its claim is kept, its set counts it and its parent waits for it.
//! It carries a mark that only this process sees, and is not reconciled.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::Resource;
use kube::core::ObjectMeta;
use kube::runtime::watcher;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::IndexKeys;
use tatara_core::api::readable::{UNKNOWN, UNREADABLE};

/// Limit of the explanation, in characters.
const SHOWN: usize = 300;

/// An object from the API server. Decoding it never fails, whatever its content.
#[derive(Clone, Debug)]
pub struct Item<K>(pub K);

impl<K> Item<K> {
    /// The event of a watch, with the object itself.
    pub fn opened(event: watcher::Event<Self>) -> watcher::Event<K> {
        match event {
            watcher::Event::Init => watcher::Event::Init,
            watcher::Event::InitApply(Self(object)) => watcher::Event::InitApply(object),
            watcher::Event::InitDone => watcher::Event::InitDone,
            watcher::Event::Apply(Self(object)) => watcher::Event::Apply(object),
            watcher::Event::Delete(Self(object)) => watcher::Event::Delete(object),
        }
    }
}

impl<'de, K: IndexKeys + DeserializeOwned> Deserialize<'de> for Item<K> {
    /// Decodes from text alone. The objects of kube's lists and watch events are text here, because
    /// the API server writes the type of an event before its object.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        read(raw.get()).map(Self).map_err(D::Error::custom)
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Item<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

fn read<K: IndexKeys + DeserializeOwned>(text: &str) -> Result<K, serde_json::Error> {
    let Ok(mut object) = serde_json::from_str::<K>(text) else {
        return salvage(text, problem::<K>(text));
    };
    // marks that someone wrote into the API are removed
    if let Some(marks) = &mut object.meta_mut().annotations {
        marks.retain(|mark, _| mark != UNREADABLE && mark != UNKNOWN);
    }
    Ok(object)
}

/// Why a text cannot be decoded: the field and the cause.
fn problem<K: IndexKeys + DeserializeOwned>(text: &str) -> String {
    let decoder = &mut serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, K>(decoder) else {
        return String::new();
    };
    let path: String = error.path().to_string().chars().take(SHOWN / 2).collect();
    // the content of a Secret is not shown
    if K::kind(&()) == "Secret" {
        return path;
    }
    // without the position, because the text is not shown
    let why = error.inner().to_string();
    let why = why.split(" at line ").next().unwrap_or_default();
    format!("{path}: {why}").chars().take(SHOWN).collect()
}

/// Decodes each field by itself, and keeps the readable ones.
fn salvage<K: IndexKeys + DeserializeOwned>(
    text: &str,
    why: String,
) -> Result<K, serde_json::Error> {
    let mut tree = K::least();
    let mut lost = Vec::new();
    for (name, raw) in serde_json::from_str::<BTreeMap<String, &RawValue>>(text)? {
        let parts = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get());
        match parts {
            Ok(parts) if ["metadata", "spec", "status"].contains(&name.as_str()) => {
                for (part, raw) in parts {
                    if !put::<K>(&mut tree, &[&name, &part], raw) {
                        lost.push(format!("{name}.{part}"));
                    }
                }
            }
            _ if put::<K>(&mut tree, &[&name], raw) => {}
            _ => lost.push(name),
        }
    }
    let mut object = K::deserialize(&tree)?;
    let marks = object.meta_mut().annotations.get_or_insert_default();
    marks.insert(UNREADABLE.into(), why);
    // managedFields repeat the fields of the spec, are as deep, and are not kept
    let is_kept =
        |field: &String| field.starts_with("metadata") && field != "metadata.managedFields";
    let vital = |field: &String| is_kept(field) || K::VITAL.contains(&field.as_str());
    if lost.iter().any(|field| vital(field) || field == "spec") {
        marks.insert(UNKNOWN.into(), String::new());
    } else {
        marks.remove(UNKNOWN);
    }
    Ok(object)
}

/// The field at a path; it is added if it is missing.
fn at_path<'a>(tree: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(tree, |at, name| &mut at[*name])
}

/// Sets a field if the object can be decoded with it.
fn put<K: DeserializeOwned>(tree: &mut Value, path: &[&str], raw: &RawValue) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(raw.get()) else {
        return false;
    };
    let Some((name, parents)) = path.split_last() else {
        return false;
    };
    let at = at_path(tree, parents);
    let before = at.get(*name).cloned();
    at[*name] = value;
    if K::deserialize(&*tree).is_ok() {
        return true;
    }
    let at = at_path(tree, parents);
    if let Some(before) = before {
        at[*name] = before;
    } else if let Some(fields) = at.as_object_mut() {
        fields.remove(*name);
    }
    false
}

#[cfg(test)]
#[path = "item_tests.rs"]
mod tests;
