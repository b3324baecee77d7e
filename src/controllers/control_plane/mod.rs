//! The control planes of workload clusters, asked through their machines: their components listen
//! there, and are reached over the SSH connection of each.

mod components;
mod etcd_endpoint;
mod members;
mod probe;

use std::sync::Arc;

use super::base::Base;
use super::workloads::Workloads;
use crate::providers::{Hosts, Providers};

pub use members::Silence;

/// Asks and changes the control planes of workload clusters.
pub struct ControlPlanes {
    /// Dependencies shared by all controllers.
    pub base: Arc<Base>,
    /// The workload clusters, and their certificate authorities.
    pub workloads: Arc<Workloads>,
    /// Hosts over SSH.
    pub hosts: Arc<Hosts>,
    /// The infrastructure providers.
    pub providers: Arc<Providers>,
}
