//! Virtual machines on Hypervisors, whose gateways create, power and delete them: specification,
//! cloud-init seed, and SSH access as to any other server.

mod give_up;
mod keys;
mod observe;
mod perform;
mod provider;
mod record;
mod reservations;
mod seed;
mod server;
mod silence;
mod spec;
mod tries;

pub use keys::Keys;
pub use provider::Libvirt;
pub use reservations::{Reservation, Reservations};
pub use seed::{SeedError, seed};
pub use server::Guest;
pub use spec::{domain_name, fetch, machine_spec};
pub use tries::Tries;

/// The login user of a virtual machine; sudo is unrestricted.
pub const USER: &str = "tatara";
