//! Redfish: power, boot device and virtual media of a server, through its BMC (baseboard management
//! controller).
//!
//! A client for the few resources that Tatara needs (DMTF DSP0266, DSP2046). No BMC conforms to the
//! standard in everything: each field may be missing or of another type, each change is read back,
//! and the text of a BMC's error is shown verbatim.
//!
//! | file | what it holds |
//! |---|---|
//! | `access` | address, credential and trust in the certificate |
//! | `tls` | verifies the certificate: the pinned one, or one of the given authority |
//! | `http` | one request, repeated where that is safe |
//! | `login` | session or basic authentication; a wrong password is tried once |
//! | `resources`, `choose` | decoding and decisions; pure |
//! | `bmc`, `power`, `boot`, `media`, `task` | the session, and what it does |

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
