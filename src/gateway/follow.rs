//! Reads the events of a gateway for the life of its [`Connection`](super::Connection).

use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;

use super::connection::{ConnectionKey, Wake};
use super::events::Reader;
use super::{Client, GatewayError};
use crate::clock;
use crate::remote::{Kept, Total};
use tatara_core::api::conditions::Reason;
use tatara_core::backoff;
use tatara_core::hypervisor::{Concerns, Connectivity, Event, LARGEST, View};

/// Least time between two pieces of a stream, so that a gateway that floods us does not affect
/// others.
const BREATH: Duration = Duration::from_millis(5);

/// Bytes of what is kept of all gateways. Of one it is twice [`LARGEST`]: a new list beside the
/// last one.
const ALL: usize = 32 << 20;

static TOTAL: LazyLock<Arc<Total>> = LazyLock::new(|| Total::new(2 * LARGEST, ALL));

/// Reads events until it is stopped. Each connection begins with the whole state, so that no event
/// is missed.
pub(super) async fn follow(
    key: ConnectionKey,
    client: Arc<Client>,
    view: Arc<RwLock<View>>,
    wake: Wake,
) {
    let mut follower = Follower {
        kept: Kept::among(&TOTAL, &key.namespace),
        key,
        client,
        view,
        wake,
    };
    let mut failures: u32 = 0;
    loop {
        let mut was_synced = false;
        let error = follower.once(&mut was_synced).await;
        failures = if was_synced { 1 } else { failures + 1 };
        follower.disconnected(&error);
        tokio::time::sleep(pause(failures)).await;
    }
}

/// The pause after this many consecutive failures, short enough to notice the recovery of a gateway
/// soon.
fn pause(failures: u32) -> Duration {
    backoff::delay(failures, 0.5).min(Duration::from_secs(10))
}

struct Follower {
    kept: Kept,
    key: ConnectionKey,
    client: Arc<Client>,
    view: Arc<RwLock<View>>,
    wake: Wake,
}

impl Follower {
    /// Reads one connection to its end, which is always an error.
    async fn once(&mut self, was_synced: &mut bool) -> GatewayError {
        let mut answer = match self.client.events().await {
            Ok(answer) => answer,
            Err(error) => return error,
        };
        let mut reader = Reader::default();
        let mut told = View::default();
        loop {
            let piece = match answer.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return ended(self.client.url()),
                Err(error) => return GatewayError::from_request(self.client.url(), &error),
            };
            let taken = self.take(reader.take(&piece), &mut told, was_synced);
            if let Err(error) = taken {
                return error;
            }
            // slows down a gateway that sends too much
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Takes what a piece of the stream tells, while there is room for it.
    fn take(
        &mut self,
        events: Vec<Event>,
        told: &mut View,
        was_synced: &mut bool,
    ) -> Result<(), GatewayError> {
        for event in events {
            if *was_synced {
                self.news(event);
            } else if event == Event::Synced {
                *was_synced = true;
                self.connected(std::mem::take(told));
            } else {
                told.take(event);
            }
        }
        if has_room(&mut self.kept, &self.view, told) {
            return Ok(());
        }
        Err(GatewayError::TooMuch {
            url: self.client.url().to_owned(),
            all: ALL >> 20,
        })
    }

    fn news(&self, event: Event) {
        let concerns = self.write(|view| view.take(event));
        match concerns {
            Concerns::Machine(id) => (self.wake.machine)(&self.key, &id),
            Concerns::Images => (self.wake.waiting)(&self.key),
            Concerns::Capacity => {
                (self.wake.hypervisor)(&self.key);
                (self.wake.waiting)(&self.key);
            }
            Concerns::Nobody => {}
        }
    }

    fn connected(&self, mut told: View) {
        told.connectivity = Connectivity::Connected;
        self.write(|view| *view = told);
        tracing::info!(hypervisor = %self.key, "connected to the gateway");
        (self.wake.all)(&self.key);
    }

    fn disconnected(&self, error: &GatewayError) {
        let (reason, why) = (error.reason(), error.to_string());
        let is_news = self.write(|view| {
            let since = match &view.connectivity {
                Connectivity::Disconnected { since, .. } => *since,
                _ => clock::now(),
            };
            let new = Connectivity::Disconnected {
                since,
                reason,
                why: why.clone(),
            };
            let is_news = view.connectivity != new;
            view.connectivity = new;
            is_news
        });
        if is_news {
            tracing::info!(hypervisor = %self.key, error = why, "disconnected from the gateway");
            (self.wake.all)(&self.key);
        }
    }

    // A panic in a writer leaves a consistent view behind: each change is one call.
    fn write<T>(&self, change: impl FnOnce(&mut View) -> T) -> T {
        change(&mut self.view.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counts what is kept of a gateway and what it tells now; whether there is room for it. If not,
/// nothing of it is kept: as before the first answer, what is not shown may be there.
fn has_room(kept: &mut Kept, view: &RwLock<View>, told: &View) -> bool {
    let mut view = view.write().unwrap_or_else(PoisonError::into_inner);
    kept.set(view.weight() + told.weight());
    let has_room = !kept.is_too_large();
    if !has_room {
        *view = View::default();
        kept.set(0);
    }
    has_room
}

fn ended(url: &str) -> GatewayError {
    GatewayError::Unreachable {
        url: url.to_owned(),
        reason: Reason::HypervisorUnreachable,
        why: "it closed the connection".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Credentials;
    use super::super::connection::WakeHypervisor;
    use super::*;
    use tatara_core::wire::Machine;

    fn full() -> View {
        let mut view = View::default();
        for number in 0..6_000 {
            let mut machine = Machine::unreadable(&number.to_string());
            machine.spec.name = "x".repeat(10_000);
            view.take(Event::Machine(Box::new(machine)));
        }
        view.connectivity = Connectivity::Connected;
        view
    }

    /// One that reads a gateway, with room for so many bytes.
    fn follower(room: usize) -> Follower {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let credentials = Credentials { tls, token: None };
        let client = Client::new("https://192.0.2.30:8443", credentials).expect("a client");
        let nobody: WakeHypervisor = Arc::new(|_| {});
        Follower {
            kept: Kept::among(&Total::new(2 * LARGEST, room), "n"),
            key: ConnectionKey::new("n", "h"),
            client: Arc::new(client),
            view: Arc::default(),
            wake: Wake {
                machine: Arc::new(|_, _| {}),
                waiting: nobody.clone(),
                hypervisor: nobody.clone(),
                all: nobody,
            },
        }
    }

    #[test]
    fn a_gateway_is_read_no_further_than_there_is_room() {
        let machines = |from: usize| {
            let machine = |number: usize| {
                let mut machine = Machine::unreadable(&number.to_string());
                machine.spec.name = "x".repeat(1000);
                Event::Machine(Box::new(machine))
            };
            (from..from + 100).map(machine).collect::<Vec<_>>()
        };
        // in its list, and in what it tells after that
        for is_synced in [false, true] {
            let mut follower = follower(LARGEST / 8);
            let (mut told, mut was_synced) = (View::default(), is_synced);
            let mut pieces = (0..20).map(|piece| machines(100 * piece));
            let over = pieces.find_map(|piece| {
                let taken = follower.take(piece, &mut told, &mut was_synced);
                taken.err()
            });
            let is_over = matches!(over, Some(GatewayError::TooMuch { .. }));
            assert!(is_over, "{is_synced}: {over:?}");
            assert!(pieces.next().is_some(), "{is_synced}: the last piece");
            let kept = follower.view.read().unwrap();
            assert_eq!(kept.weight(), 0, "{is_synced}");
        }
    }

    #[test]
    fn gateways_of_one_namespace_take_no_room_from_another() {
        let total = Total::new(2 * LARGEST, ALL);
        let kept = |namespace| Kept::among(&total, namespace);
        let nothing = View::default();
        let (mut alone, other) = (kept("other"), RwLock::new(full()));
        assert!(has_room(&mut alone, &other, &nothing));
        let of_one = || (kept("greedy"), RwLock::new(full()));
        let mut greedy: Vec<_> = (0..10).map(|_| of_one()).collect();
        let mut have = Vec::new();
        for (kept, view) in &mut greedy {
            have.push(has_room(kept, view, &nothing));
        }
        assert_eq!(have, [[true; 7].as_slice(), &[false; 3]].concat());
        // one that was not stopped yet
        let mut late = kept("greedy");
        late.set(LARGEST);
        assert!(late.is_too_large());
        assert!(has_room(&mut alone, &other, &nothing));
        drop(late);
        assert_eq!(greedy[9].1.read().unwrap().weight(), 0, "nothing is kept");
        // a new list beside the last one
        let (first, view) = &mut greedy[0];
        assert!(!has_room(first, view, &full()));
        greedy.truncate(3);
        let (second, view) = &mut greedy[1];
        assert!(has_room(second, view, &full()));
    }
}
