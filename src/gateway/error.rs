//! What can fail at a gateway, said for people.

use std::error::Error;
use std::io;

use rustls::AlertDescription;
use tatara_gateway_wire::Code;

use crate::api::conditions::Reason;

/// A request to a gateway that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// There was no answer.
    #[error("the gateway at {url} does not answer: {why}")]
    Unreachable {
        /// Its address.
        url: String,
        /// One CamelCase word.
        reason: Reason,
        /// The innermost reason.
        why: String,
    },
    /// It answered, and refused.
    #[error("the gateway at {url} refused to {what} ({status} {code}): {detail}")]
    Refused {
        /// Its address.
        url: String,
        /// What was asked, as it follows "refused to".
        what: String,
        /// HTTP status.
        status: u16,
        /// The gateway's own word.
        code: String,
        /// The gateway's own words.
        detail: String,
    },
    /// It answered something that is not in its description.
    #[error(
        "the gateway at {url} sent an answer that cannot be read: {why}; upgrade it to the release of the manager"
    )]
    Unreadable {
        /// Its address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// We have nothing to reach it with.
    #[error("{message}")]
    Credentials {
        /// One CamelCase word.
        reason: Reason,
        /// Which Secret, which key, what to do.
        message: String,
    },
}

/// What a code of the gateway is as the reason of a condition. Others, and those of a newer gateway, are said in its
/// own words.
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

/// What an error was made from. One of input and output names what its own maker has inside, and not that one.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// Why there was no answer: TLS says whose certificate was not accepted.
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
    /// A request that got no answer. Only the innermost cause says what is wrong.
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

    /// One CamelCase word, for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreadable { .. } => Reason::UnreadableAnswer,
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
