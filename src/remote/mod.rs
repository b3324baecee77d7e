//! SSH: connections, commands, and tunnels.
//!
//! A [`Target`] has the address of a host, its host keys, and the key to log in with. The [`Pool`]
//! opens a [`Session`] for it, one per host, shared by all callers; a session runs scripts as root
//! and opens TCP tunnels. [`kube_client`] reaches an API server through a session, or directly.
//!
//! Nothing here retries: callers do, with back-off, and count the attempts.

mod command;
mod connect;
mod connect_error;
mod contacts;
mod credential;
mod host_key;
mod kept;
mod key_cost;
pub mod limits;
mod login;
mod patience;
mod places;
mod pool;
mod reach;
mod run_error;
mod running;
mod session;
mod stream;
mod target;
mod transport;
mod tunnel;
mod verifier;

#[cfg(test)]
pub mod sshd;

pub use command::Output;
pub use connect_error::ConnectError;
pub use contacts::{Contact, Contacts};
pub use credential::{Credential, CredentialError};
pub use kept::{Kept, Total};
pub use places::Places;
pub use pool::{Key, Pool};
pub use reach::{OutOfReach, Reach};
pub use run_error::RunError;
pub use session::Session;
pub use stream::TcpTunnel;
pub use target::{Hop, Place, Target};
pub use tunnel::{Route, Targets, kube_builder, kube_client};
