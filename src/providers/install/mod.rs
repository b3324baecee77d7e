//! Installing the operating system of a Host, through its BMC's virtual CD drive: its keys and the image that is open to
//! it, the steps, and what is known of one that is under way. When it is done, and why, is decided in
//! [`crate::core::host`]; what the installer is told, in [`crate::core::installer`].

mod image;
mod steps;
mod underway;

use std::sync::Arc;

use crate::api::Host;
use crate::engine::Engine;
use crate::media::Media;
use crate::providers::{Bmcs, Hosts};
use crate::store::Waker;

pub use steps::{begin, boot, boot_installed, end, give_up, open_again};
pub use underway::{ask, look};

/// The dependencies of an installation.
pub struct Installs {
    /// Writes to the Host and publishes Events.
    pub engine: Arc<Engine>,
    /// The served installers, if the manager serves any.
    pub media: Option<Arc<Media>>,
    /// Sessions of hosts, which end when a host restarts.
    pub hosts: Arc<Hosts>,
    /// The BMCs that boot hosts.
    pub bmcs: Arc<Bmcs>,
    /// Wakes the controller of Hosts.
    pub waker: Waker<Host>,
}
