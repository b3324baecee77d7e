//! SSH: connections, commands, tunnels, and following a step.
//!
//! A [`Target`] says where a host is, whose keys it must show, and which key opens it. The
//! [`Pool`] turns it into a [`Session`], one per host, shared by everybody; a session runs
//! scripts as root and opens TCP tunnels. [`kube_client`] reaches an API server through one, or directly.
//!
//! Nothing here retries: callers wait (`controllers::backoff`) and keep the attempt count themselves.

mod command;
mod connect;
mod connect_error;
mod credential;
mod host_key;
mod key_cost;
mod login;
mod patience;
mod pool;
mod run_error;
mod running;
mod session;
mod stream;
mod target;
mod transport;
mod tunnel;
mod verifier;

pub use command::Output;
pub use connect_error::ConnectError;
pub use credential::{Credential, CredentialError};
pub use pool::{Key, Pool};
pub use run_error::RunError;
pub use session::Session;
pub use stream::TcpTunnel;
pub use target::{Hop, Place, Target};
pub use tunnel::{Route, kube_builder, kube_client};
