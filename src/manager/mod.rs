//! Creates the manager's components, and starts and stops them in order.

mod args;
mod build;
mod controllers;
mod definitions;
mod error;
mod files;
mod gateways;
mod gone;
mod hooks;
mod http;
mod leader;
mod lease;
mod media;
#[cfg(test)]
pub(crate) mod plane_tests;
mod run;
mod sources;
mod unreadable;
mod workloads;

pub use args::{DEFAULT_LEASE_NAMESPACE, ManagerArgs};
pub use error::ManagerError;
pub use leader::LEASE_NAME;
pub use lease::LEASE_SECONDS;
pub use run::run;
