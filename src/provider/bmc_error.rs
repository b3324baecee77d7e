//! Errors of BMCs in the words of conditions.

use super::ContactError;
use crate::controllers::Chain;
use crate::redfish::Error;

/// What stands between us and the BMC, and is ours or the user's to mend.
pub fn local(reason: &'static str, message: String) -> ContactError {
    ContactError {
        reason,
        message,
        transient: false,
    }
}

/// What a BMC, or the way to it, did.
pub fn contact_error(error: &Error) -> ContactError {
    let (reason, transient) = match error {
        Error::Unreachable { .. } => ("BMCUnreachable", true),
        Error::CertificateChanged { .. } => ("BMCCertificateChanged", false),
        Error::CertificateUntrusted { .. } => ("BMCCertificateUntrusted", false),
        Error::LoginRefused { .. } => ("BMCLoginRefused", false),
        Error::NoSystem { .. } => ("BMCSystemUnknown", false),
        Error::Malformed { .. } | Error::NoVirtualMedia { .. } => ("BMCUnusable", true),
        Error::Client { .. } => ("BMCMisconfigured", false),
        Error::NotAllowed { .. } => ("PowerActionRefused", false),
        Error::PowerRefused { .. } => ("PowerActionRefused", true),
        Error::Refused { .. } => ("BMCError", true),
        Error::NotReached { .. } | Error::TaskFailed { .. } => ("PowerActionFailed", true),
    };
    ContactError {
        reason,
        message: Chain(error).to_string(),
        transient,
    }
}

impl ContactError {
    /// Whether the BMC answered, and would or could not do what it was asked for.
    pub fn is_about_power(&self) -> bool {
        matches!(self.reason, "PowerActionRefused" | "PowerActionFailed")
    }

    /// Whether nothing can be asked or done over SSH: what is there may be off, may hang, or may run on unseen.
    pub fn is_silence(&self) -> bool {
        matches!(
            self.reason,
            "SshUnreachable" | "SshDisconnected" | "HostHangs"
        )
    }
}
