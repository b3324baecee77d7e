//! Names of objects by the keys under which they are looked up.

use std::collections::{BTreeSet, HashMap};

/// Namespace and name.
pub type Name = (String, String);

/// Something that objects are looked up by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The object's namespace.
    Namespace(String),
    /// The object's own UID.
    Uid(String),
    /// UID of the controlling owner.
    Owner(String),
    /// The namespace of an object that nobody controls.
    Orphan(String),
    /// Namespace and name of the Cluster that it belongs to.
    Cluster(String, String),
    /// The same, of a Machine that is a control plane, or waits for the workers as one.
    ControlPlane(String, String),
    /// Namespace and name of a MachineClass that it uses.
    Class(String, String),
    /// Namespace and name of the Hypervisor that it runs on.
    Hypervisor(String, String),
    /// UID of the Machine that claims it.
    Claim(String),
    /// Namespace and name of a Secret that it uses.
    Secret(String, String),
    /// An address that it is reached at.
    Address(String),
    /// The BMC that drives its power.
    Bmc(String),
    /// Its `/etc/machine-id`.
    MachineId(String),
    /// Namespace, and the name that it calls itself.
    Hostname(String, String),
    /// It cannot be read.
    Unreadable,
    /// The same, by namespace.
    UnreadableIn(String),
    /// Namespace of what cannot be read so far that nobody knows whose it is.
    UnknownIn(String),
}

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
