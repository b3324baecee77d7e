//! Contacts that are under way: what comes of one is not kept of a place that was forgotten
//! meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Place;

/// The places that are contacted now.
#[derive(Default)]
pub struct Contacts(Mutex<HashMap<Place, Weak<AtomicBool>>>);

/// A contact that is under way.
pub struct Contact(Arc<AtomicBool>);

impl Contacts {
    /// A contact begins.
    pub fn begin(&self, place: &Place) -> Contact {
        let mut known = self.lock();
        if let Some(other) = known.get(place).and_then(Weak::upgrade) {
            return Contact(other);
        }
        known.retain(|_, contact| contact.strong_count() > 0);
        let contact = Arc::new(AtomicBool::new(false));
        known.insert(place.clone(), Arc::downgrade(&contact));
        Contact(contact)
    }

    /// A place is forgotten. Call this before its memory is cleared.
    pub fn forget(&self, place: &Place) {
        if let Some(contact) = self.lock().remove(place).and_then(|one| one.upgrade()) {
            contact.store(true, Ordering::SeqCst);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, Weak<AtomicBool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contact {
    /// Whether its place was forgotten since it began. Ask after its result was written, and then
    /// clear that: who forgets at the same time clears it otherwise.
    pub fn is_forgotten(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
