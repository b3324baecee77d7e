//! What the HTTPS servers of Tatara do alike with whoever connects to them: the gateway, and the listener that installers
//! are fetched from.

mod peers;

pub use peers::{Peers, PendingPeer, Place};
