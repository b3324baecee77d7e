//! Admission of connections, shared by the HTTPS servers of Tatara: the gateway, and the manager's
//! listener that serves installers.

mod peers;

pub use peers::{Peers, PendingPeer, Place};
