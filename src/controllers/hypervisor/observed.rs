//! What a pass over a Hypervisor knows, as plain data.

use std::sync::Arc;

use crate::api::Hypervisor;
use crate::gateway::View;

/// What a pass over a Hypervisor knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Hypervisor.
    pub hypervisor: Arc<Hypervisor>,
    /// What its gateway has told, or why we have nothing to reach it with: reason and message.
    pub gateway: Result<View, (&'static str, String)>,
    /// Names of the Machines that are placed on it.
    pub machines: Vec<String>,
    /// Virtual machines that were made by this management cluster for Machines that do not exist: their
    /// ids, and the Machines' names.
    pub orphans: Vec<(String, String)>,
}
