//! Client of `tatara-gateway`, the HTTP service beside libvirtd on each hypervisor. One connection
//! per Hypervisor reads its events, so that there is no polling; requests only make changes. The
//! messages of both sides are defined once, in `gateway/wire`.

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
