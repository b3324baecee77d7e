//! Errors of BMCs for conditions.

use crate::engine::Chain;
use tatara_core::api::conditions::Reason;
use tatara_core::host::ContactError;
use tatara_redfish::Error;

/// An error before a request to the BMC, such as a missing Secret.
pub fn local(reason: Reason, message: String) -> ContactError {
    ContactError {
        reason,
        message,
        transient: false,
    }
}

/// An error of a BMC, or of the connection to it.
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
