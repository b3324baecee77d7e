//! Virtual machines on our Hypervisors: what a Machine's is to be, what its operating system finds at the
//! first boot, and how it is then reached over SSH, like any other server.

mod keys;
mod reservations;
mod seed;
mod server;
mod spec;
mod tries;

pub use keys::Keys;
pub use reservations::{Reservation, Reservations};
pub use seed::{SeedError, seed};
pub use server::Guest;
pub use spec::{LABEL_MANAGEMENT, domain_name, fetch, machine_spec};
pub use tries::Tries;

/// The user that logs in to a virtual machine; it may do everything with sudo.
pub const USER: &str = "tatara";
