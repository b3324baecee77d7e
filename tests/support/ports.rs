//! Ports on which a program of a test is to listen.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those from which the kernel takes the ports of connections (32768), and those of `hack/` (20000): one of the former may be
/// taken by a connection before the program listens.
const FIRST: u16 = 10_000;
const COUNT: u16 = 10_000;

/// An address on which nobody listens, another one each time.
pub fn free() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // processes of tests begin at different ones
    let own = u16::try_from(std::process::id() % u32::from(COUNT)).expect("below COUNT");
    (0..COUNT)
        .map(|_| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
            SocketAddr::from(([127, 0, 0, 1], FIRST + (own + next) % COUNT))
        })
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("a free port")
}
