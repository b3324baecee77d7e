//! What a pass over a Hypervisor knows, as plain data.

use std::sync::Arc;

use crate::api::Hypervisor;
use crate::api::given_up::AbandonError;
use crate::hypervisor::View;
use crate::{AttemptRecord, Why};

/// What a pass over a Hypervisor knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Hypervisor.
    pub hypervisor: Arc<Hypervisor>,
    /// What its gateway reported, or why there are no usable credentials for it.
    pub gateway: Result<View, Why>,
    /// Names of the Machines that are placed on it.
    pub machines: Vec<String>,
    /// Virtual machines that were made by this management cluster for Machines that neither exist
    /// nor were given up: their ids, and their names.
    pub orphans: Vec<(String, String)>,
    /// Machines that were removed while their virtual machines could not be deleted.
    pub given_up: Result<Vec<AbandonedMachine>, AbandonError>,
}

/// A Machine that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonedMachine {
    /// UID of the Machine, and id of its virtual machine.
    pub uid: String,
    /// Name of the Machine.
    pub name: String,
    /// A Machine of that UID still exists: its own deletion continues.
    pub is_machine: bool,
    /// The gateway shows a virtual machine of that id, and this management cluster did not make it.
    pub is_anothers: bool,
    /// The attempts to delete it.
    pub tried: AttemptRecord,
}
