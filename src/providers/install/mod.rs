//! Installs the operating system of a Host through its BMC's virtual CD drive: host keys, served
//! image, steps, and the state of a running installation. [`tatara_core::host`] decides when and
//! why; [`tatara_core::installer`] renders the installer's configuration.

mod image;
mod steps;
mod underway;

use std::sync::Arc;

use crate::engine::Engine;
use crate::media::Media;
use crate::providers::{Bmcs, Hosts};
use crate::store::Waker;
use tatara_core::api::Host;

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
