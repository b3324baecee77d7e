//! Where machines come from. Backends stand beside each other: [`ssh`] is servers that their owner has, [`libvirt`] makes
//! virtual machines on hypervisors, [`simulated`] machines live in the manager's memory. [`bmc`] drives the power of
//! servers, [`install`] their operating system.

pub mod bmc;
pub mod install;
pub mod libvirt;
pub mod simulated;
pub mod ssh;

pub use bmc::Bmcs;
pub use install::Installs;
pub use simulated::Simulated;
pub use ssh::{Follows, Hosts};
