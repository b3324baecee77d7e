//! Limits on unauthenticated connections, per source address and in total, so that no client locks
//! out the others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limit per source address: a manager opens several at once, and several BMCs may share one
/// address.
const OF_ONE: usize = 64;
/// Limit over all source addresses.
const OF_ALL: usize = 256;

/// Number of unauthenticated connections per source address.
#[derive(Clone, Debug, Default)]
pub struct Peers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One unauthenticated connection; it is counted until this is dropped.
#[derive(Debug)]
pub struct PendingPeer {
    peers: Peers,
    of: IpAddr,
}

impl Peers {
    /// Counts a new connection; `None` when a limit is reached.
    pub fn admit(&self, from: IpAddr) -> Option<PendingPeer> {
        let of = network(from);
        let mut counts = self.counts();
        let all: usize = counts.values().sum();
        if all >= OF_ALL || counts.get(&of).is_some_and(|count| *count >= OF_ONE) {
            return None;
        }
        *counts.entry(of).or_default() += 1;
        let peers = self.clone();
        Some(PendingPeer { peers, of })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingPeer {
    fn drop(&mut self) {
        let mut counts = self.peers.counts();
        if let Some(count) = counts.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.of);
            }
        }
    }
}

/// The slot of a connection among the unauthenticated ones; the default holds no slot.
#[derive(Clone, Debug, Default)]
pub struct Place(Arc<Mutex<Option<PendingPeer>>>);

impl Place {
    /// Releases the slot: the connection is authenticated.
    pub fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl From<PendingPeer> for Place {
    fn from(counted: PendingPeer) -> Self {
        Self(Arc::new(Mutex::new(Some(counted))))
    }
}

/// An IPv6 client controls a whole /64, so all addresses of a /64 are counted as one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn one_address_takes_no_place_of_another_and_all_together_only_so_many() {
        let peers = Peers::default();
        let of = |from: &str, count| -> Vec<PendingPeer> {
            let admitted = (0..count).map_while(|_| peers.admit(address(from)));
            admitted.collect()
        };
        let first = of("192.0.2.1", 1000);
        assert_eq!(first.len(), OF_ONE);
        assert!(of("::ffff:192.0.2.1", 1).is_empty(), "it is the same");
        let second = of("2001:db8::1", 1000);
        assert_eq!(second.len(), OF_ONE);
        assert!(of("2001:db8::2", 1).is_empty(), "it is of the same network");
        let third: Vec<_> = (3..100)
            .flat_map(|n| of(&format!("192.0.2.{n}"), 4))
            .collect();
        assert_eq!(third.len(), OF_ALL - 2 * OF_ONE);
        // authenticated and closed connections are not counted
        drop(first);
        assert_eq!(of("192.0.2.1", 1).len(), 1);
        let place = Place::from(peers.admit(address("192.0.2.1")).expect("a place"));
        place.clone().leave();
        assert_eq!(of("192.0.2.1", 1000).len(), OF_ONE);
        drop((second, third));
        assert!(peers.counts().is_empty());
    }
}
