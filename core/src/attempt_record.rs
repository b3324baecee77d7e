//! Attempts at an operation of a Hypervisor's gateway that have not succeeded.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Finding;

/// The result of the attempts so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Number of attempts.
    pub times: u32,
    /// Time of the last attempt.
    pub last: Option<Timestamp>,
    /// Why the last one was refused, if it was; reported until another is answered, so that the
    /// condition does not flap.
    pub refused: Option<Finding>,
    /// Hypervisors that a Machine has left, since it could not be made there.
    pub left: BTreeSet<String>,
}

impl AttemptRecord {
    /// Ends the back-off after the last attempt. The back-off after the next one is longer.
    pub fn at_once(&mut self) {
        self.last = None;
    }
}
