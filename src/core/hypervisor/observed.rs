//! What a pass over a Hypervisor knows, as plain data.

use std::sync::Arc;

use crate::api::Hypervisor;
use crate::api::conditions::Reason;
use crate::api::given_up::GivenUpError;
use crate::core::Tried;
use crate::core::hypervisor::View;

/// What a pass over a Hypervisor knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Hypervisor.
    pub hypervisor: Arc<Hypervisor>,
    /// What its gateway has told, or why we have nothing to reach it with: reason and message.
    pub gateway: Result<View, (Reason, String)>,
    /// Names of the Machines that are placed on it.
    pub machines: Vec<String>,
    /// Virtual machines that were made by this management cluster for Machines that neither exist nor were given up:
    /// their ids, and their names.
    pub orphans: Vec<(String, String)>,
    /// Machines that were given up while it could not end their virtual machines.
    pub given_up: Result<Vec<Abandoned>, GivenUpError>,
}

/// A Machine that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// UID of the Machine, and id of its virtual machine.
    pub uid: String,
    /// Name of the Machine.
    pub name: String,
    /// There still is a Machine of that UID: its own deletion goes on.
    pub is_machine: bool,
    /// The gateway shows a virtual machine of that id, and this management cluster did not make it.
    pub is_anothers: bool,
    /// What came of the tries to end it.
    pub tried: Tried,
}
