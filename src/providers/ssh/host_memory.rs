//! Memory of servers between two observations: when each last answered, and the result of the last login attempt.
//! A restart clears it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::core::host::ContactError;
use crate::remote::{Key, Place, Target};

/// A failed login is not repeated within this time. Its error is written to the Host, that write wakes the Host's
/// controller, and an immediate retry may return another error (a DNS name with two servers), which would loop.
const REFUSAL_STANDS: Duration = Duration::from_secs(5);

/// By the place of a server.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<Place, HostRecord>>);

#[derive(Default)]
struct HostRecord {
    heard: Option<Timestamp>,
    refusal: Option<(Instant, Key, ContactError)>,
}

impl Memory {
    /// When a server last answered, unless a later contact failed.
    pub(super) fn heard_at(&self, place: &Place) -> Option<Timestamp> {
        self.lock().get(place)?.heard
    }

    /// Records an answer; `None` for a failed contact.
    pub(super) fn heard(&self, place: Place, at: Option<Timestamp>) {
        self.lock().entry(place).or_default().heard = at;
    }

    /// The error of a recent login attempt with the same target and keys.
    pub(super) fn refusal(&self, place: &Place, target: &Target) -> Option<ContactError> {
        let known = self.lock();
        let (at, key, error) = known.get(place)?.refusal.as_ref()?;
        let stands = at.elapsed() < REFUSAL_STANDS && *key == Key::of(target);
        stands.then(|| error.clone())
    }

    /// Records a failed login.
    pub(super) fn refused(&self, place: Place, target: &Target, error: ContactError) {
        let mut known = self.lock();
        let known = known.entry(place).or_default();
        known.heard = None;
        known.refusal = Some((Instant::now(), Key::of(target), error));
    }

    /// Forgets a server.
    pub(super) fn forget(&self, place: &Place) {
        self.lock().remove(place);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, HostRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
