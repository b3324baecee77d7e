//! So many at once of each namespace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;

/// A semaphore for each namespace, for as long as one uses it.
pub struct Places {
    at_once: usize,
    by_namespace: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Places {
    /// With so many permits for each.
    pub fn new(at_once: usize) -> Self {
        Self {
            at_once,
            by_namespace: Mutex::default(),
        }
    }

    /// That of a namespace.
    pub fn of(&self, namespace: &str) -> Arc<Semaphore> {
        let known = self.by_namespace.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.get(namespace).and_then(Weak::upgrade) {
            return place;
        }
        known.retain(|_, place| place.strong_count() > 0);
        let place = Arc::new(Semaphore::new(self.at_once));
        known.insert(namespace.to_owned(), Arc::downgrade(&place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_one_place_and_leaves_nothing_behind() {
        let places = Places::new(1);
        let held = places.of("a").try_acquire_owned();
        assert!(held.is_ok());
        assert!(places.of("a").try_acquire().is_err());
        assert!(places.of("b").try_acquire().is_ok());
        drop(held);
        assert!(places.of("a").try_acquire().is_ok());
        places.of("c");
        assert_eq!(places.by_namespace.lock().unwrap().len(), 1);
    }
}
