//! Where machines come from. Backends stand beside each other: [`hosts`] are servers reached over
//! SSH, [`libvirt`] makes virtual machines on hypervisors, [`simulated`] machines live in the manager's
//! memory.

pub mod credentials;
pub mod follow;
pub mod hosts;
pub mod libvirt;
pub mod simulated;
pub mod target;

pub use credentials::Credentials;
pub use follow::{Follow, Follows};
pub use hosts::{ContactError, Hosts, Server};
pub use simulated::Simulated;
