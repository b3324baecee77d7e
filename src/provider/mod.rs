//! Where machines come from. Backends stand beside each other: [`hosts`] are servers reached over
//! SSH, [`libvirt`] makes virtual machines on hypervisors, [`simulated`] machines live in the manager's
//! memory. [`bmcs`] drive the power of servers.

pub mod bmc_access;
pub mod bmc_error;
pub mod bmc_logins;
pub mod bmcs;
pub mod credentials;
pub mod errand;
pub mod follow;
mod host_memory;
pub mod hosts;
pub mod installer;
pub mod libvirt;
pub mod sightings;
pub mod simulated;
pub mod target;

pub use bmcs::Bmcs;
pub use credentials::Credentials;
pub use errand::Errand;
pub use follow::Follows;
pub use hosts::{Hosts, Server};
pub use sightings::{Sighting, Sightings};
pub use simulated::Simulated;
