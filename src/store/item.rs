//! One object of a list or watch, decoded by itself. A mistake in one object is no mistake of the others: what
//! cannot be decoded as a whole is read field by field, and stands in the store with all that could be read, so
//! that its claim holds, its set counts it and its parent waits for it. It bears a mark that only this process
//! sees, and nobody acts on it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::Resource;
use kube::core::ObjectMeta;
use kube::runtime::watcher;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Indexed;
use crate::api::readable::{UNKNOWN, UNREADABLE};

/// Longest explanation, in characters.
const SHOWN: usize = 300;

/// An object as it came from the API server. To take it never fails, whatever is in it.
#[derive(Clone, Debug)]
pub struct Item<K>(pub K);

impl<K> Item<K> {
    /// The event of a watch, about the object itself.
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

impl<'de, K: Indexed + DeserializeOwned> Deserialize<'de> for Item<K> {
    /// From text alone: the objects of kube's lists and watch events are, for the API server writes the type of
    /// an event before its object.
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

fn read<K: Indexed + DeserializeOwned>(text: &str) -> Result<K, serde_json::Error> {
    let Ok(mut object) = serde_json::from_str::<K>(text) else {
        return salvage(text, problem::<K>(text));
    };
    // whoever writes our marks into the API says nothing
    if let Some(marks) = &mut object.meta_mut().annotations {
        marks.retain(|mark, _| mark != UNREADABLE && mark != UNKNOWN);
    }
    Ok(object)
}

/// What is wrong with a text that cannot be decoded: the field, and why.
fn problem<K: Indexed + DeserializeOwned>(text: &str) -> String {
    let decoder = &mut serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, K>(decoder) else {
        return String::new();
    };
    let path: String = error.path().to_string().chars().take(SHOWN / 2).collect();
    // what stands in a Secret is not repeated
    if K::kind(&()) == "Secret" {
        return path;
    }
    // not where: nobody sees the text
    let why = error.inner().to_string();
    let why = why.split(" at line ").next().unwrap_or_default();
    format!("{path}: {why}").chars().take(SHOWN).collect()
}

/// Takes each field by itself, as far as it can be read.
fn salvage<K: Indexed + DeserializeOwned>(text: &str, why: String) -> Result<K, serde_json::Error> {
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
    // who wrote what repeats the fields of the spec, is as deep, and is not kept here
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

/// The field at a path; it is made where it is missing.
fn at_path<'a>(tree: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(tree, |at, name| &mut at[*name])
}

/// Sets a field, if the object can still be decoded then.
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
