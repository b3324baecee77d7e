//! Redfish: power, boot device and virtual media of a server, through its BMC (baseboard management
//! controller).
//!
//! A thin client for the few resources that are needed. BMCs differ, and none keeps to the standard in
//! everything: each field may be missing or of another type, each answer is read back, and what a BMC says of
//! an error is shown as it stands.
//!
//! | file | what it holds |
//! |---|---|
//! | `access` | address, credential and trust in the certificate |
//! | `tls` | the certificate that is pinned, and no other |
//! | `http` | one request, repeated where that is safe |
//! | `login` | session or basic authentication; a wrong password is tried once |
//! | `resources`, `choose` | decoding and decisions; pure |
//! | `bmc`, `power`, `boot`, `media`, `task` | what a BMC is asked to do |

mod access;
mod bmc;
mod boot;
mod choose;
mod error;
mod http;
mod login;
mod media;
mod pace;
mod power;
mod resources;
mod task;
mod tls;

pub use access::{Access, AccessError, Login, Trust};
pub use bmc::Bmc;
pub use choose::{NoSystem, Wish};
pub use error::Error;
pub use pace::Pace;
pub use resources::{BootDevice, BootOverride};
