//! Errors of BMCs in the words of conditions.

use crate::api::conditions::Reason;
use crate::core::host::ContactError;
use crate::engine::Chain;
use crate::redfish::Error;

/// What stands between us and the BMC, and is ours or the user's to mend.
pub fn local(reason: Reason, message: String) -> ContactError {
    ContactError {
        reason,
        message,
        transient: false,
    }
}

/// What a BMC, or the way to it, did.
pub fn contact_error(error: &Error) -> ContactError {
    let (reason, transient) = match error {
        Error::Unreachable { .. } => (Reason::BMCUnreachable, true),
        Error::CertificateChanged { .. } => (Reason::BMCCertificateChanged, false),
        Error::CertificateUntrusted { .. } => (Reason::BMCCertificateUntrusted, false),
        Error::LoginRefused { .. } => (Reason::BMCLoginRefused, false),
        Error::NoSystem { .. } => (Reason::BMCSystemUnknown, false),
        Error::Malformed { .. } | Error::NoVirtualMedia { .. } => (Reason::BMCUnusable, true),
        Error::Client { .. } => (Reason::BMCMisconfigured, false),
        Error::NotAllowed { .. } => (Reason::PowerActionRefused, false),
        Error::PowerRefused { .. } => (Reason::PowerActionRefused, true),
        Error::Refused { .. } => (Reason::BMCError, true),
        Error::NotReached { .. } | Error::TaskFailed { .. } => (Reason::PowerActionFailed, true),
    };
    ContactError {
        reason,
        message: Chain(error).to_string(),
        transient,
    }
}
