//! What comes of asking a host, or its BMC.

use std::fmt;

use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use crate::api::conditions::Reason;

/// Why a host could not be asked, in the words of a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ContactError {
    /// One CamelCase word.
    pub reason: Reason,
    /// For people, with the remedy.
    pub message: String,
    /// Whether it may pass by itself.
    pub transient: bool,
}

impl ContactError {
    /// Whether the BMC answered, and would or could not do what it was asked for.
    pub fn is_about_power(&self) -> bool {
        matches!(
            self.reason,
            Reason::PowerActionRefused | Reason::PowerActionFailed
        )
    }

    /// Whether nothing can be asked or done over SSH: what is there may be off, may hang, or may run on unseen.
    pub fn is_silence(&self) -> bool {
        matches!(
            self.reason,
            Reason::SshUnreachable | Reason::SshDisconnected | Reason::HostHangs
        )
    }
}

/// What a BMC said when it was last asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerReading {
    /// When.
    pub at: Timestamp,
    /// Names the settings and the version of the Secret that it was asked with.
    pub asked_with: String,
    /// Whether the system is on; or why that is not known, or could not be changed.
    pub power: Result<PowerState, ContactError>,
}

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
    /// The BMC does not say, or says something else.
    #[default]
    Unknown,
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
