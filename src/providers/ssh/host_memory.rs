//! What is remembered of servers between two looks: when each last answered, and what the last attempt to log in came
//! to. A restart asks again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::core::host::ContactError;
use crate::remote::{Key, Place, Target};

/// An attempt that failed stands for this time, whoever asks. What it says is written on the Host, that write wakes
/// its controller, and the next attempt may say something else, as behind a DNS name with two servers.
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
    /// When a server last answered, unless it could not be asked since.
    pub(super) fn heard_at(&self, place: &Place) -> Option<Timestamp> {
        self.lock().get(place)?.heard
    }

    /// It answered, or could not be asked.
    pub(super) fn heard(&self, place: Place, at: Option<Timestamp>) {
        self.lock().entry(place).or_default().heard = at;
    }

    /// Why it could not be logged in to a moment ago, with all that it is tried with now.
    pub(super) fn refusal(&self, place: &Place, target: &Target) -> Option<ContactError> {
        let known = self.lock();
        let (at, key, error) = known.get(place)?.refusal.as_ref()?;
        let stands = at.elapsed() < REFUSAL_STANDS && *key == Key::of(target);
        stands.then(|| error.clone())
    }

    /// It could not be logged in to.
    pub(super) fn refused(&self, place: Place, target: &Target, error: ContactError) {
        let mut known = self.lock();
        let known = known.entry(place).or_default();
        known.heard = None;
        known.refusal = Some((Instant::now(), Key::of(target), error));
    }

    /// Nobody asks for it any more.
    pub(super) fn forget(&self, place: &Place) {
        self.lock().remove(place);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, HostRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
