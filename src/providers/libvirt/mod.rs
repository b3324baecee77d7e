//! Virtual machines on our Hypervisors: made, switched and ended by their gateways; what a Machine's is to be, what its
//! operating system finds at the first boot, and how it is then reached over SSH, like any other server.

mod give_up;
mod keys;
mod observe;
mod perform;
mod provider;
mod record;
mod reservations;
mod seed;
mod server;
mod spec;
mod tries;

pub use keys::Keys;
pub use provider::Libvirt;
pub use reservations::{Reservation, Reservations};
pub use seed::{SeedError, seed};
pub use server::Guest;
pub use spec::{LABEL_MANAGEMENT, domain_name, fetch, machine_spec};
pub use tries::Tries;

/// The user that logs in to a virtual machine; it may do everything with sudo.
pub const USER: &str = "tatara";
