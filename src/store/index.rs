//! Objects by name, and by the keys under which they are looked up.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::core::Key;

/// Namespace and name.
pub type Name = (String, String);

/// Objects with their keys. What is found by its name is found under each of its keys, and the other way round.
pub struct Index<K> {
    objects: HashMap<Arc<Name>, Entry<K>>,
    /// The same objects, sorted by name.
    by_key: HashMap<Key, BTreeMap<Arc<Name>, Arc<K>>>,
}

struct Entry<K> {
    object: Arc<K>,
    keys: Vec<Key>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            by_key: HashMap::new(),
        }
    }
}

impl<K> Index<K> {
    /// The object of this name.
    pub fn get(&self, name: &Name) -> Option<&Arc<K>> {
        self.objects.get(name).map(|entry| &entry.object)
    }

    /// The objects under a key, sorted by name.
    pub fn by<'a>(&'a self, key: &Key) -> impl Iterator<Item = &'a Arc<K>> + use<'a, K> {
        self.by_key.get(key).into_iter().flat_map(BTreeMap::values)
    }

    /// How many objects are under a key.
    pub fn count(&self, key: &Key) -> usize {
        self.by_key.get(key).map_or(0, BTreeMap::len)
    }

    /// Files an object under these keys and no others.
    pub fn insert(&mut self, name: Name, keys: Vec<Key>, object: Arc<K>) {
        if let Some(entry) = self.objects.get_mut(&name)
            && entry.keys == keys
        {
            for key in &keys {
                let there = self.by_key.get_mut(key);
                if let Some(there) = there.and_then(|objects| objects.get_mut(&name)) {
                    *there = Arc::clone(&object);
                }
            }
            entry.object = object;
            return;
        }
        self.remove(&name);
        let name = Arc::new(name);
        for key in &keys {
            let objects = self.by_key.entry(key.clone()).or_default();
            objects.insert(Arc::clone(&name), Arc::clone(&object));
        }
        self.objects.insert(name, Entry { object, keys });
    }

    /// Forgets an object.
    pub fn remove(&mut self, name: &Name) {
        let keys = self.objects.remove(name).map(|entry| entry.keys);
        for key in keys.unwrap_or_default() {
            if let Some(objects) = self.by_key.get_mut(&key) {
                objects.remove(name);
                if objects.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        ("default".into(), name.into())
    }

    fn under(index: &Index<u8>, owner: &str) -> Vec<u8> {
        index
            .by(&Key::Owner(owner.into()))
            .map(|object| **object)
            .collect()
    }

    #[test]
    fn an_object_is_found_under_its_present_keys_only_and_as_it_is_now() {
        let mut index = Index::default();
        index.insert(name("b"), vec![Key::Owner("1".into())], Arc::new(1));
        index.insert(name("a"), vec![Key::Owner("1".into())], Arc::new(2));
        assert_eq!(under(&index, "1"), [2, 1]);
        index.insert(name("a"), vec![Key::Owner("2".into())], Arc::new(3));
        index.insert(name("b"), vec![Key::Owner("1".into())], Arc::new(4));
        assert_eq!(under(&index, "1"), [4]);
        assert_eq!(under(&index, "2"), [3]);
        assert_eq!(index.get(&name("a")).map(|object| **object), Some(3));
        assert_eq!(index.count(&Key::Owner("1".into())), 1);
    }

    #[test]
    fn nothing_is_left_of_a_removed_object() {
        let mut index = Index::default();
        let keys = vec![Key::Uid("1".into()), Key::Namespace("default".into())];
        index.insert(name("a"), keys, Arc::new(1));
        index.remove(&name("a"));
        assert!(index.objects.is_empty() && index.by_key.is_empty());
    }
}
