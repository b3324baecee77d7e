//! `tatara-gateway` as its client sees it: the HTTP service beside libvirtd on each hypervisor. One
//! connection per Hypervisor follows its events, so that nobody asks twice; requests only change things. What both say to
//! each other is defined once, in `gateway/wire`.

mod client;
mod connection;
mod credentials;
mod error;
mod events;
mod follow;
mod registry;

pub use client::Client;
pub use connection::{Connection, ConnectionKey, Wake};
pub use credentials::Credentials;
pub use error::GatewayError;
pub use registry::Registry;
