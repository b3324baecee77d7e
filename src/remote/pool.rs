//! One shared connection per host, opened when first needed and again after a loss.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use super::connect::connect;
use super::credential::Digest;
use super::target::{Place, Stop};
use super::{ConnectError, Contacts, Hop, Session, Target};
use tatara_core::api::host::Privilege;

/// The connections to all hosts. Clones share them.
///
/// Concurrent callers of the same target share one attempt, which continues while one of them
/// waits. Connections to jump hosts are shared as well, and closed after their last user. The
/// pool does not retry: each caller gets the error, and the next call tries again.
///
/// A connection is proof of a login, so it belongs to those who could log in themselves: to the
/// namespace and the whole private keys, on each hop, that opened it.
#[derive(Clone, Default)]
pub struct Pool {
    shelves: Arc<Mutex<Shelves>>,
    contacts: Arc<Contacts>,
}

/// A session that nobody used for this long is closed: a client that was left behind may have
/// opened it to a deleted host. All others are contacted every few minutes.
const IDLE: Duration = Duration::from_hours(1);

#[derive(Default)]
struct Shelves {
    lines: HashMap<Key, Line>,
    /// Sessions that stay open between callers, by place: at most one each; and when each was last
    /// used.
    kept: HashMap<Place, (Arc<Session>, Instant)>,
    attempts: u64,
}

enum Line {
    Connecting(u64, WeakShared<Attempt>),
    Open(Weak<Session>),
}

type Attempt = BoxFuture<'static, Result<Arc<Session>, ConnectError>>;

/// All parameters of a connection; other parameters need another connection.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    namespace: String,
    /// Of each hop: where it is, the digest of the private key, the accepted host keys.
    way: Vec<(Stop, Digest, Vec<String>)>,
    privilege: Privilege,
    trust_on_first_use: bool,
}

impl Key {
    /// The key of the connection to `target`.
    pub fn of(target: &Target) -> Self {
        Leg::to(target).key()
    }
}

impl Pool {
    /// A pool without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The connection to `target`, opened anew if there is none or it was lost.
    ///
    /// A changed credential, host key or jump host opens another connection at once; the former one
    /// closes after its last user.
    ///
    /// # Errors
    /// The host or a jump host cannot be reached or verified, or refuses the login.
    pub async fn session(&self, target: &Target) -> Result<Arc<Session>, ConnectError> {
        let leg = Leg::to(target);
        let place = leg.place();
        if let Some(session) = self.used(&leg.key(), &place) {
            return Ok(session);
        }
        let contact = self.contacts.begin(&place);
        let mut via = None;
        for end in 1..=target.jump.len() {
            let (hop, before) = target.jump[..end]
                .split_last()
                .unwrap_or((&target.hop, &[]));
            let leg = Leg {
                namespace: &target.namespace,
                hop,
                before,
                privilege: Privilege::Root,
                trust_on_first_use: false,
            };
            let session = self
                .leg(&leg, via)
                .await
                .map_err(|error| ConnectError::JumpFailed {
                    hop: hop.to_string(),
                    source: Box::new(error),
                })?;
            via = Some(session);
        }
        let session = self.leg(&leg, via).await?;
        drop(self.lock().keep(place.clone(), &session));
        if contact.is_forgotten() {
            self.forget(&place);
        }
        Ok(session)
    }

    fn used(&self, key: &Key, place: &Place) -> Option<Arc<Session>> {
        let mut shelves = self.lock();
        let session = shelves.open(key)?;
        if let Some((_, used)) = shelves.kept.get_mut(place) {
            *used = Instant::now();
        }
        Some(session)
    }

    /// Removes the connection to a place from the pool: it closes after its last user.
    pub fn forget(&self, place: &Place) {
        self.contacts.forget(place);
        let mut shelves = self.lock();
        let is_there = |key: &Key| {
            key.namespace == place.namespace && key.way.iter().map(|(stop, ..)| stop).eq(&place.way)
        };
        shelves.lines.retain(|key, _| !is_there(key));
        let session = shelves.kept.remove(place);
        drop(shelves);
        drop(session);
    }

    async fn leg(
        &self,
        leg: &Leg<'_>,
        via: Option<Arc<Session>>,
    ) -> Result<Arc<Session>, ConnectError> {
        let attempt = match self.find(leg, via) {
            Slot::Open(session) => return Ok(session),
            Slot::Attempt(attempt) => attempt,
        };
        attempt.await
    }

    fn find(&self, leg: &Leg<'_>, via: Option<Arc<Session>>) -> Slot {
        let key = leg.key();
        let mut shelves = self.lock();
        if let Some(session) = shelves.open(&key) {
            return Slot::Open(session);
        }
        if let Some(Line::Connecting(_, attempt)) = shelves.lines.get(&key)
            && let Some(attempt) = attempt.upgrade()
        {
            return Slot::Attempt(attempt);
        }
        shelves.attempts += 1;
        let number = shelves.attempts;
        let attempt = self.attempt(number, key.clone(), leg, via).shared();
        shelves.lines.retain(|_, line| line.is_alive());
        if let Some(weak) = attempt.downgrade() {
            shelves.lines.insert(key, Line::Connecting(number, weak));
        }
        Slot::Attempt(attempt)
    }

    fn attempt(&self, number: u64, key: Key, leg: &Leg<'_>, via: Option<Arc<Session>>) -> Attempt {
        let pool = self.clone();
        let hop = leg.hop.clone();
        let (privilege, trust) = (leg.privilege, leg.trust_on_first_use);
        async move {
            let connected = connect(&hop, trust, via.as_deref()).await;
            let session = connected.map(|new| Arc::new(Session::new(new, &hop, privilege, via)));
            pool.settle(number, key, session.as_ref().ok());
            session
        }
        .boxed()
    }

    /// Records the result of attempt `number`, unless another one replaced it.
    fn settle(&self, number: u64, key: Key, session: Option<&Arc<Session>>) {
        let mut shelves = self.lock();
        if !matches!(shelves.lines.get(&key), Some(Line::Connecting(n, _)) if *n == number) {
            return;
        }
        match session {
            Some(session) => shelves
                .lines
                .insert(key, Line::Open(Arc::downgrade(session))),
            None => shelves.lines.remove(&key),
        };
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    /// Keeps a session open; returns what is not kept any longer, to be closed outside of the lock.
    fn keep(&mut self, place: Place, session: &Arc<Session>) -> Vec<Arc<Session>> {
        let idle = self.kept.extract_if(|_, (_, used)| used.elapsed() > IDLE);
        let mut closed: Vec<_> = idle.map(|(_, (session, _))| session).collect();
        let kept = (Arc::clone(session), Instant::now());
        closed.extend(self.kept.insert(place, kept).map(|(earlier, _)| earlier));
        closed
    }

    fn open(&self, key: &Key) -> Option<Arc<Session>> {
        match self.lines.get(key)? {
            Line::Open(session) => session.upgrade().filter(|session| !session.is_closed()),
            Line::Connecting(..) => None,
        }
    }
}

enum Slot {
    Open(Arc<Session>),
    Attempt(Shared<Attempt>),
}

impl Line {
    fn is_alive(&self) -> bool {
        match self {
            Self::Open(session) => session.strong_count() > 0,
            Self::Connecting(_, attempt) => attempt.upgrade().is_some(),
        }
    }
}

/// Connects to one hop through the hops before it.
struct Leg<'a> {
    namespace: &'a str,
    hop: &'a Hop,
    before: &'a [Hop],
    privilege: Privilege,
    trust_on_first_use: bool,
}

impl<'a> Leg<'a> {
    fn to(target: &'a Target) -> Self {
        Self {
            namespace: &target.namespace,
            hop: &target.hop,
            before: &target.jump,
            privilege: target.privilege,
            trust_on_first_use: target.trust_on_first_use,
        }
    }

    fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.before.iter().chain([self.hop])
    }

    fn key(&self) -> Key {
        let part = |hop: &Hop| (hop.stop(), *hop.credential.digest(), hop.host_keys.clone());
        Key {
            namespace: self.namespace.to_owned(),
            way: self.hops().map(part).collect(),
            privilege: self.privilege,
            trust_on_first_use: self.trust_on_first_use && self.hop.host_keys.is_empty(),
        }
    }

    fn place(&self) -> Place {
        Place {
            namespace: self.namespace.to_owned(),
            way: self.hops().map(Hop::stop).collect(),
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
