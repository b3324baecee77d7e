//! How far a unit is, and how often it failed.

use k8s_openapi::jiff::Timestamp;

use super::{Progress, UnitName};

/// A unit that is followed, or that ended while it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Follow {
    /// Which unit.
    pub unit: UnitName,
    /// The step that runs, once the host has said so.
    pub progress: Option<Progress>,
    /// Since when.
    pub since: Timestamp,
}

/// Failures of a unit in a row, kept in memory: a restart tries again at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// How many in a row.
    pub failed: u32,
    /// When the last one ended.
    pub last: Option<Timestamp>,
    /// What was wrong, where the host keeps no record of it.
    pub error: Option<String>,
}

impl Attempts {
    /// Ends the pause after the last one. One that fails again waits longer than it did.
    pub fn at_once(&mut self) {
        self.last = None;
    }
}
