//! Names of objects by the keys under which they are looked up.

use std::collections::{BTreeSet, HashMap};

use crate::core::Key;

/// Namespace and name.
pub type Name = (String, String);

/// Keys to names, and back.
#[derive(Default)]
pub struct Index {
    names: HashMap<Key, BTreeSet<Name>>,
    keys: HashMap<Name, Vec<Key>>,
}

impl Index {
    /// The names under a key, sorted.
    pub fn find(&self, key: &Key) -> Vec<Name> {
        self.names
            .get(key)
            .map(|names| names.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Files a name under these keys and no others.
    pub fn insert(&mut self, name: &Name, keys: Vec<Key>) {
        if self.keys.get(name).is_some_and(|old| *old == keys) {
            return;
        }
        self.remove(name);
        for key in &keys {
            self.names
                .entry(key.clone())
                .or_default()
                .insert(name.clone());
        }
        self.keys.insert(name.clone(), keys);
    }

    /// Forgets a name.
    pub fn remove(&mut self, name: &Name) {
        for key in self.keys.remove(name).unwrap_or_default() {
            if let Some(names) = self.names.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    self.names.remove(&key);
                }
            }
        }
    }

    /// All names, sorted.
    pub fn all(&self) -> BTreeSet<Name> {
        self.keys.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        ("default".into(), name.into())
    }

    #[test]
    fn a_name_is_found_under_its_present_keys_only() {
        let mut index = Index::default();
        index.insert(&name("a"), vec![Key::Owner("1".into())]);
        index.insert(&name("b"), vec![Key::Owner("1".into())]);
        index.insert(&name("a"), vec![Key::Owner("2".into())]);
        assert_eq!(index.find(&Key::Owner("1".into())), [name("b")]);
        assert_eq!(index.find(&Key::Owner("2".into())), [name("a")]);
    }

    #[test]
    fn nothing_is_left_of_a_removed_name() {
        let mut index = Index::default();
        index.insert(
            &name("a"),
            vec![Key::Uid("1".into()), Key::Namespace("default".into())],
        );
        index.remove(&name("a"));
        assert!(index.names.is_empty() && index.keys.is_empty());
    }
}
