//! What can fail at a gateway, said for people.
use crate::api::conditions::Reason;

/// A request to a gateway that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// There was no answer.
    #[error("the gateway at {url} does not answer: {why}")]
    Unreachable {
        /// Its address.
        url: String,
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

/// Codes of the gateway that are reasons of conditions here.
const CODES: [(&str, Reason); 13] = [
    ("TokenExpired", Reason::TokenExpired),
    ("Unauthenticated", Reason::Unauthorized),
    ("InsufficientCapacity", Reason::InsufficientCapacity),
    ("SpecDiffers", Reason::SpecDiffers),
    ("NameTaken", Reason::NameTaken),
    ("ImageNotReady", Reason::ImageNotReady),
    ("ImageDiffers", Reason::ImageDiffers),
    ("PoolFull", Reason::StorageFull),
    ("PoolInactive", Reason::StorageInactive),
    ("BadSpec", Reason::InvalidSpec),
    ("UnknownField", Reason::GatewayOutdated),
    ("LibvirtUnavailable", Reason::LibvirtUnavailable),
    ("MachineBusy", Reason::LibvirtUnavailable),
];

impl GatewayError {
    /// A request that got no answer. Only the innermost cause says what is wrong.
    pub fn from_request(url: &str, error: &reqwest::Error) -> Self {
        let mut inner: &dyn std::error::Error = error;
        while let Some(next) = inner.source() {
            inner = next;
        }
        Self::Unreachable {
            url: url.to_owned(),
            why: inner.to_string(),
        }
    }

    /// One CamelCase word, for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreachable { why, .. } if why.contains("certificate") => {
                Reason::CertificateUnknown
            }
            Self::Unreachable { .. } => Reason::HypervisorUnreachable,
            Self::Unreadable { .. } => Reason::UnreadableAnswer,
            Self::Credentials { reason, .. } => *reason,
            Self::Refused { code, .. } => CODES
                .iter()
                .find(|(known, _)| known == code)
                .map_or(Reason::GatewayRefused, |(_, reason)| *reason),
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
