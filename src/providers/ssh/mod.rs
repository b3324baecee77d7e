//! Servers over SSH: Hosts, and the guests of virtual machines. Their connections, what they say of themselves, and the
//! steps that run on them.

pub mod claims;
pub mod credentials;
pub mod follow;
mod host_memory;
pub mod hosts;
pub mod keys;
pub mod sightings;
pub mod target;

pub use credentials::Credentials;
pub use follow::Follows;
pub use hosts::{Hosts, Server};
pub use sightings::{Sighting, Sightings};
