//! Power actions.

use serde::{Deserialize, Serialize};

/// The body of a power request.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct PowerRequest {
    /// The action.
    pub action: PowerAction,
}

/// A power action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PowerAction {
    /// Start; no-op when it is running.
    On,
    /// Hard power off; no-op when it is off.
    Off,
    /// Request a graceful shutdown from the guest; no-op when it is off.
    Shutdown,
    /// Hard reset; 409 when it is off.
    Reset,
    /// Resume a paused machine; no-op when it is running, 409 when it is off.
    Resume,
}

impl PowerAction {
    /// The serialized name.
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
