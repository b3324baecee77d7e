//! What is asked of a machine's power.

use serde::{Deserialize, Serialize};

/// The body of a power request.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct PowerRequest {
    /// What to do.
    pub action: PowerAction,
}

/// A change of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PowerAction {
    /// Start; nothing when it runs.
    On,
    /// Cut the power; nothing when it is off.
    Off,
    /// Ask the guest to shut down; nothing when it is off.
    Shutdown,
    /// Reset, as by the button; 409 when it is off.
    Reset,
    /// Let a paused machine go on; nothing when it runs, 409 when it is off.
    Resume,
}

impl PowerAction {
    /// As it stands on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Shutdown => "shutdown",
            Self::Reset => "reset",
            Self::Resume => "resume",
        }
    }
}
