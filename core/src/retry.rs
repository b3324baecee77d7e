//! Whether a user requests an immediate retry, with the annotation `tatara.dev/retry`.
//!
//! Attempts and their pauses are kept in memory, and so is the value that was acted upon: a restart
//! tries at once anyway.

use std::collections::HashMap;

use kube::ResourceExt;

use crate::api::names::ANNOTATION_RETRY;

/// The value of the annotation of each object in its last pass, by UID.
#[derive(Debug, Default)]
pub struct Retries(HashMap<String, Option<String>>);

impl Retries {
    /// Whether the annotation has a value that it did not have before. The value at the first pass
    /// does not count, because the start of this process has retried already.
    pub fn take(&mut self, object: &impl ResourceExt) -> bool {
        let value = object.annotations().get(ANNOTATION_RETRY).cloned();
        let is_asked = value.is_some();
        let before = self
            .0
            .insert(object.uid().unwrap_or_default(), value.clone());
        is_asked && before.is_some_and(|before| before != value)
    }

    /// The object was deleted.
    pub fn forget(&mut self, uid: &str) {
        self.0.remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Machine;

    #[test]
    fn each_new_value_asks_once() {
        let machine = |uid: &str, value: Option<&str>| -> Machine {
            let annotations = value.map(|value| json!({ (ANNOTATION_RETRY): value }));
            let metadata = json!({"name": "m", "uid": uid, "annotations": annotations});
            serde_json::from_value(json!({"metadata": metadata, "spec": {}})).expect("a Machine")
        };
        let mut retries = Retries::default();
        for (uid, value, expected) in [
            ("a", None, false),
            ("a", Some("1"), true),
            ("a", Some("1"), false),
            ("a", Some(""), true),
            ("a", None, false),
            ("a", Some("1"), true),
            ("b", Some("1"), false),
            ("b", Some("2"), true),
            ("a", Some("1"), false),
        ] {
            assert_eq!(
                retries.take(&machine(uid, value)),
                expected,
                "{uid} {value:?}"
            );
        }
        retries.forget("a");
        assert!(!retries.take(&machine("a", Some("3"))), "it is new");
    }
}
