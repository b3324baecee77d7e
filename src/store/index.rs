//! Objects by name, and by the keys under which they are looked up.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tatara_core::Key;

/// Namespace and name.
pub type Name = (String, String);

/// Objects with their keys. What is found by its name is found under each of its keys, and the
/// other way round. Names and keys are in memory once: of ten thousand objects they take as much as
/// their labels.
pub struct Index<K> {
    objects: HashMap<Arc<Name>, Entry<K>>,
    by_key: HashMap<Arc<Key>, Under<K>>,
}

struct Entry<K> {
    object: Arc<K>,
    keys: Box<[Arc<Key>]>,
}

/// The objects under one key, sorted by name. Many keys, such as a UID, have one.
enum Under<K> {
    One(Arc<Name>, Arc<K>),
    Many(BTreeMap<Arc<Name>, Arc<K>>),
}

impl<K> Under<K> {
    fn insert(&mut self, name: Arc<Name>, object: Arc<K>) {
        match self {
            Self::Many(objects) => {
                objects.insert(name, object);
            }
            Self::One(known, held) if *known == name => *held = object,
            Self::One(known, held) => {
                let first = (Arc::clone(known), Arc::clone(held));
                *self = Self::Many([first, (name, object)].into());
            }
        }
    }

    /// Returns whether nothing is left.
    fn remove(&mut self, name: &Name) -> bool {
        match self {
            Self::One(known, _) => **known == *name,
            Self::Many(objects) => {
                objects.remove(name);
                objects.is_empty()
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Many(objects) => objects.len(),
        }
    }

    fn values(&self) -> impl Iterator<Item = &Arc<K>> {
        let (one, many) = match self {
            Self::One(_, object) => (Some(object), None),
            Self::Many(objects) => (None, Some(objects.values())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
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
        self.by_key.get(key).into_iter().flat_map(Under::values)
    }

    /// How many objects are under a key.
    pub fn count(&self, key: &Key) -> usize {
        self.by_key.get(key).map_or(0, Under::len)
    }

    /// Files an object under these keys and no others.
    pub fn insert(&mut self, name: Name, keys: Vec<Key>, object: Arc<K>) {
        let known = self.objects.get_key_value(&name);
        let known = known.map(|(known, _)| Arc::clone(known));
        let name = known.unwrap_or_else(|| Arc::new(name));
        let keys: Box<[_]> = keys.into_iter().map(|key| self.shared(key)).collect();
        let before = self.objects.remove(&name);
        let before = before.map(|entry| entry.keys).unwrap_or_default();
        for key in before.iter().filter(|key| !keys.contains(key)) {
            self.unfile(key, &name);
        }
        for key in &keys {
            let (name, object) = (Arc::clone(&name), Arc::clone(&object));
            match self.by_key.entry(Arc::clone(key)) {
                Slot::Occupied(mut under) => under.get_mut().insert(name, object),
                Slot::Vacant(slot) => {
                    slot.insert(Under::One(name, object));
                }
            }
        }
        self.objects.insert(name, Entry { object, keys });
    }

    /// Forgets an object.
    pub fn remove(&mut self, name: &Name) {
        let keys = self.objects.remove(name).map(|entry| entry.keys);
        for key in &keys.unwrap_or_default() {
            self.unfile(key, name);
        }
    }

    /// The key as other objects have it.
    fn shared(&self, key: Key) -> Arc<Key> {
        let known = self.by_key.get_key_value(&key);
        let known = known.map(|(known, _)| Arc::clone(known));
        known.unwrap_or_else(|| Arc::new(key))
    }

    fn unfile(&mut self, key: &Arc<Key>, name: &Name) {
        if self
            .by_key
            .get_mut(key)
            .is_some_and(|under| under.remove(name))
        {
            self.by_key.remove(key);
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
