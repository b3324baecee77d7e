//! Listeners, startup and shutdown.

mod connections;
mod error;
mod listeners;
mod log;
mod run;
mod tls;

pub use error::Error;
pub(crate) use log::log;
pub use run::run;
