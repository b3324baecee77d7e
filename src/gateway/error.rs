//! Errors of requests to a gateway.

use std::error::Error;
use std::io;

use rustls::AlertDescription;
use tatara_gateway_wire::Code;

use tatara_core::api::conditions::Reason;

/// A failed request to a gateway.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The gateway does not answer.
    #[error("the gateway at {url} does not answer: {why}")]
    Unreachable {
        /// URL of the gateway.
        url: String,
        /// The reason for a condition.
        reason: Reason,
        /// The innermost cause.
        why: String,
    },
    /// It refused the request.
    #[error("the gateway at {url} refused to {what} ({status} {code}): {detail}")]
    Refused {
        /// URL of the gateway.
        url: String,
        /// The request, which completes "refused to …".
        what: String,
        /// HTTP status.
        status: u16,
        /// The gateway's error code.
        code: String,
        /// The gateway's message.
        detail: String,
    },
    /// Its answer does not conform to its `OpenAPI` description.
    #[error(
        "the gateway at {url} sent a malformed answer: {why}; upgrade it to the release of the manager"
    )]
    Unreadable {
        /// URL of the gateway.
        url: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// It has more than is kept of it beside the others.
    #[error(
        "the gateway at {url} has too many virtual machines and images while those of all gateways take more than {all} MiB; delete \
there what nobody uses"
    )]
    TooMuch {
        /// URL of the gateway.
        url: String,
        /// MiB of all gateways.
        all: usize,
    },
    /// Its credentials are missing or malformed.
    #[error("{message}")]
    Credentials {
        /// The reason for a condition.
        reason: Reason,
        /// Secret, key, cause and remedy.
        message: String,
    },
}

/// The reason of a condition for an error code of the gateway. Other codes, and those of a newer
/// gateway, are used as they are.
fn reason_of(code: &str) -> Reason {
    match Code::parse(code) {
        Some(Code::TokenExpired) => Reason::TokenExpired,
        Some(Code::Unauthenticated) => Reason::Unauthorized,
        Some(Code::InsufficientCapacity) => Reason::InsufficientCapacity,
        Some(Code::SpecDiffers) => Reason::SpecDiffers,
        Some(Code::NameTaken) => Reason::NameTaken,
        Some(Code::ImageNotReady) => Reason::ImageNotReady,
        Some(Code::ImageDiffers) => Reason::ImageDiffers,
        Some(Code::PoolFull) => Reason::StorageFull,
        Some(Code::PoolInactive) => Reason::StorageInactive,
        Some(Code::BadSpec) => Reason::InvalidSpec,
        Some(Code::UnknownField) => Reason::GatewayOutdated,
        Some(Code::LibvirtUnavailable | Code::MachineBusy) => Reason::LibvirtUnavailable,
        _ => Reason::GatewayRefused,
    }
}

/// The cause of an error. The source of an I/O error is that of its inner error, so the inner one
/// is taken first.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// The reason for a missing answer: a TLS error tells whose certificate was not accepted.
fn reason_of_silence(innermost: &(dyn Error + 'static)) -> Reason {
    use AlertDescription as Alert;
    match innermost.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Reason::CertificateUnknown
        }
        Some(rustls::Error::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied,
        )) => Reason::Unauthorized,
        _ => Reason::HypervisorUnreachable,
    }
}

impl GatewayError {
    /// The error of a request without an answer. Only the innermost cause is shown.
    pub fn from_request(url: &str, error: &reqwest::Error) -> Self {
        let mut inner: &(dyn Error + 'static) = error;
        while let Some(next) = inside(inner) {
            inner = next;
        }
        Self::Unreachable {
            url: url.to_owned(),
            reason: reason_of_silence(inner),
            why: inner.to_string(),
        }
    }

    /// The reason for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreadable { .. } | Self::TooMuch { .. } => Reason::UnreadableAnswer,
            Self::Unreachable { reason, .. } | Self::Credentials { reason, .. } => *reason,
            Self::Refused { code, .. } => reason_of(code),
        }
    }

    /// Whether it refused with this code.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == wanted)
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
