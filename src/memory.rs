//! A small memory of this process: what is known or was done of each object, by its UID. A restart
//! forgets it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One value for each object, by its UID.
#[derive(Debug)]
pub struct ByUid<V>(Mutex<HashMap<String, V>>);

impl<V> Default for ByUid<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V> ByUid<V> {
    /// What is remembered of an object.
    pub fn get(&self, uid: &str) -> Option<V>
    where
        V: Clone,
    {
        self.lock().get(uid).cloned()
    }

    /// Whether anything is remembered of an object.
    pub fn contains(&self, uid: &str) -> bool {
        self.lock().contains_key(uid)
    }

    /// Remembers something of an object; returns what was remembered before.
    pub fn insert(&self, uid: String, value: V) -> Option<V> {
        self.lock().insert(uid, value)
    }

    /// Changes what is remembered of an object.
    pub fn update(&self, uid: &str, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        change(self.lock().entry(uid.to_owned()).or_default());
    }

    /// Forgets an object; returns what was remembered of it.
    pub fn remove(&self, uid: &str) -> Option<V> {
        self.lock().remove(uid)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
