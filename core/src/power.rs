//! Whether a system is on, in the words of its BMC.

use std::fmt;

use serde::Deserialize;

/// Whether a system is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum PowerState {
    /// It runs.
    On,
    /// It does not.
    Off,
    /// On its way to run.
    PoweringOn,
    /// On its way off.
    PoweringOff,
    /// The BMC reports no power state, or another one.
    #[default]
    Unknown,
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
