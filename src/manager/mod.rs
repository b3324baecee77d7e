//! Wiring: what the manager is made of, and the order in which it starts and stops.

mod args;
mod context;
mod controllers;
mod definitions;
mod error;
mod gateways;
mod gone;
mod hooks;
mod http;
mod leader;
mod lease;
mod media;
mod members;
mod run;
mod sources;
mod unreadable;

pub use args::{DEFAULT_LEASE_NAMESPACE, ManagerArgs};
pub use context::{Context, member_key};
pub use error::ManagerError;
pub use leader::LEASE_NAME;
pub use lease::LEASE_SECONDS;
pub use run::run;
