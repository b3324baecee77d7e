//! Machines: libvirt domains with the gateway's metadata.

mod console;
mod create;
mod delete;
mod error;
mod identity;
mod power;
mod resolve;
mod seed;
#[cfg(test)]
mod tests;
mod validate;
mod view;

pub use console::{MOST_BYTES, console};
pub use create::{Creation, create};
pub use delete::delete;
pub use error::{Error, Result};
pub(crate) use identity::hex;
pub use identity::{mac, spec_hash};
pub use power::power;
pub use seed::remove_seed;
pub use validate::validate;
pub use view::{Agents, list, one};
