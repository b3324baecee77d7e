//! Memory of servers between two observations: when each last answered, and the result of the last
//! login attempt. A restart clears it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::remote::{Key, Place, Target};
use tatara_core::host::ContactError;

/// A failed login is not repeated within this time. Its error is written to the Host, that write
/// wakes the Host's controller, and an immediate retry may return another error (a DNS name with
/// two servers), which would loop.
const REFUSAL_STANDS: Duration = Duration::from_secs(5);

/// By the place of a server, which includes the namespace: another one's wrong key says nothing
/// about ours.
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
        let mut known = self.lock();
        // of one that never answered nothing is known, and a deleted one is not remembered
        if at.is_some() || known.contains_key(&place) {
            known.entry(place).or_default().heard = at;
        }
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

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, HostRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::ssh::target;
    use crate::remote::Credential;
    use tatara_core::api::Host;
    use tatara_core::api::conditions::Reason;

    const KEY: &[u8] = include_bytes!("../../../tests/pki/ec-pkcs8.key");

    fn target_in(namespace: &str) -> Target {
        let host: Host = serde_json::from_value(serde_json::json!({
            "apiVersion": "tatara.dev/v1alpha1", "kind": "Host",
            "metadata": {"name": "h", "namespace": namespace},
            "spec": {"ssh": {"address": "192.0.2.1", "user": "root", "credentialsRef": {"name": "key"}}},
        }))
        .unwrap();
        let credential = std::sync::Arc::new(Credential::parse(KEY, None).unwrap());
        let target = target::target(&host, |_| Ok::<_, ()>(credential.clone())).unwrap();
        assert_eq!(target.place(), target::place(&host));
        target
    }

    #[test]
    fn a_refusal_in_one_namespace_is_none_in_another_and_hides_no_answer_there() {
        let memory = Memory::default();
        let (ours, theirs) = (target_in("ours"), target_in("theirs"));
        let answered = Some(crate::clock::now());
        memory.heard(ours.place(), answered);
        let refusal = ContactError {
            reason: Reason::AuthenticationFailed,
            message: "a wrong key".into(),
            transient: false,
        };
        memory.refused(theirs.place(), &theirs, refusal);
        assert_eq!(memory.heard_at(&ours.place()), answered);
        assert!(memory.refusal(&ours.place(), &ours).is_none());
        assert!(memory.refusal(&theirs.place(), &theirs).is_some());
        memory.heard(theirs.place(), None);
        memory.forget(&theirs.place());
        assert_eq!(memory.heard_at(&ours.place()), answered);
    }
}
