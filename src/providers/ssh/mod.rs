//! Servers over SSH: Hosts, and the guests of virtual machines, with their connections,
//! observations, and the jobs that run on them.

mod acquire;
mod choices;
pub mod claims;
pub mod credentials;
pub mod follow;
mod host_memory;
pub mod hosts;
pub mod keys;
mod place;
mod provider;
pub mod sightings;
pub mod target;

pub use credentials::Credentials;
pub use follow::Follows;
pub use hosts::{Hosts, Leader, Server};
pub use place::perhaps_marked;
pub use provider::Ssh;
pub use sightings::Sightings;
