//! How often something was tried in vain at a hypervisor.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Finding;

/// What came of the tries so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many.
    pub times: u32,
    /// When the last one was.
    pub last: Option<Timestamp>,
    /// Why the last one was refused, if it was: said until another is answered, so that no condition goes to and fro.
    pub refused: Option<Finding>,
    /// Hypervisors that a Machine has left, since it could not be made there.
    pub left: BTreeSet<String>,
}

impl Tried {
    /// Ends the pause after the last one. One that fails again waits longer than it did.
    pub fn at_once(&mut self) {
        self.last = None;
    }
}
