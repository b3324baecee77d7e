//! Results of querying a host, or its BMC.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Reason;
use crate::pace;
use crate::power::PowerState;

/// Why a host could not be queried, with the reason and the message of a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ContactError {
    /// The reason, in CamelCase.
    pub reason: Reason,
    /// Human-readable: the cause, then the remedy.
    pub message: String,
    /// Whether it may resolve itself.
    pub transient: bool,
}

impl ContactError {
    /// Whether the BMC answered, and refused or failed the requested action.
    pub fn is_about_power(&self) -> bool {
        matches!(
            self.reason,
            Reason::PowerActionRefused | Reason::PowerActionFailed
        )
    }

    /// How soon it is asked again, for a Host.
    pub const fn again(&self) -> Duration {
        if self.transient {
            pace::SERVER
        } else {
            pace::STANDING
        }
    }

    /// Whether nothing can be done over SSH: the host may be off, may hang, or may still run.
    pub fn is_silence(&self) -> bool {
        matches!(
            self.reason,
            Reason::SshUnreachable | Reason::SshDisconnected | Reason::HostHangs
        )
    }
}

/// What a BMC reported when it was last queried.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerReading {
    /// When.
    pub at: Timestamp,
    /// Identifies the settings and the version of the Secret with which it was queried.
    pub asked_with: String,
    /// Whether the system is on; or why that is not known, or could not be changed.
    pub power: Result<PowerState, ContactError>,
}
