//! Errors of BMCs: cause, then remedy.

use std::error::Error as StdError;

use super::choose::{NoSystem, UnsupportedValue};

/// Why a request to a BMC failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Every attempt failed to connect, or lost the connection before the answer.
    #[error(
        "failed to reach the BMC at {address}; check spec.bmc.address, the network, and that its web service is on"
    )]
    Unreachable {
        /// URL of the BMC.
        address: String,
        /// Error of the connection.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Its certificate is not the pinned one.
    #[error(
        "the BMC at {address} presents certificate {shown}, but {pinned} is pinned; if its certificate was replaced, \
         verify the new one on its console and set spec.bmc.tls.fingerprint to it; otherwise another device answers \
         at that address"
    )]
    CertificateChanged {
        /// URL of the BMC.
        address: String,
        /// Fingerprint of the certificate that it presents.
        shown: String,
        /// The pinned fingerprint.
        pinned: String,
    },
    /// The authority does not verify its certificate.
    #[error(
        "the BMC at {address} presents certificate {shown}, which the authority of spec.bmc.tls.certificateAuthorityRef \
         does not verify ({problem}); install a certificate of that authority with the address in it, or verify this \
         one on the BMC's console and set spec.bmc.tls.fingerprint to it"
    )]
    CertificateUntrusted {
        /// URL of the BMC.
        address: String,
        /// Fingerprint of the certificate that it presents.
        shown: String,
        /// Why the verification fails.
        problem: String,
    },
    /// User or password is wrong. They are not tried again, because a BMC may lock the user out.
    #[error(
        "the BMC at {address} refuses user {username} (HTTP {status}); correct the Secret of \
         spec.bmc.credentialsRef: the login is not retried before that Secret or spec.bmc changes{said}"
    )]
    LoginRefused {
        /// URL of the BMC.
        address: String,
        /// The user.
        username: String,
        /// HTTP status.
        status: u16,
        /// Message of the BMC with ": " before it, or empty.
        said: String,
    },
    /// It answered with an error: 4xx, or 5xx to every attempt.
    #[error("the BMC at {address} answered {what} with HTTP {status}{said}")]
    Refused {
        /// URL of the BMC.
        address: String,
        /// Method and path.
        what: String,
        /// HTTP status.
        status: u16,
        /// Message of the BMC with ": " before it, or empty.
        said: String,
    },
    /// It refuses the power action.
    #[error("the BMC at {address} refused {action} with HTTP {status}{said}")]
    PowerRefused {
        /// URL of the BMC.
        address: String,
        /// The power action.
        action: &'static str,
        /// HTTP status.
        status: u16,
        /// Message of the BMC with ": " before it, or empty.
        said: String,
    },
    /// Its answer does not conform to Redfish.
    #[error("the BMC at {address} answered {what} with malformed Redfish: {problem}")]
    Malformed {
        /// URL of the BMC.
        address: String,
        /// Method and path.
        what: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The system cannot be chosen.
    #[error("the BMC at {address}: {problem}")]
    NoSystem {
        /// URL of the BMC.
        address: String,
        /// The systems that it has.
        problem: NoSystem,
    },
    /// It does not offer the power action.
    #[error("the BMC at {address}: {problem}")]
    NotAllowed {
        /// URL of the BMC.
        address: String,
        /// Power actions that it offers.
        problem: UnsupportedValue,
    },
    /// It accepted a change and did not apply it.
    #[error(
        "the BMC at {address} accepted {wanted}, but still reports {seen} after {seconds} s; check its console"
    )]
    NotReached {
        /// URL of the BMC.
        address: String,
        /// The requested value.
        wanted: String,
        /// The value that it reports.
        seen: String,
        /// Seconds of the wait.
        seconds: u64,
    },
    /// One of its tasks failed or did not finish.
    #[error("the BMC at {address}: task {task} {problem}")]
    TaskFailed {
        /// URL of the BMC.
        address: String,
        /// Path of the task.
        task: String,
        /// How the task failed.
        problem: String,
    },
    /// It has no virtual CD drive.
    #[error(
        "the BMC at {address} has no virtual CD drive (virtual media under the system and its managers: {looked}); \
         check whether virtual media needs a licence"
    )]
    NoVirtualMedia {
        /// URL of the BMC.
        address: String,
        /// The virtual media that it has.
        looked: String,
    },
    /// The TLS settings cannot be used.
    #[error("failed to configure TLS for the BMC at {address}: {problem}")]
    Client {
        /// URL of the BMC.
        address: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

impl Error {
    /// Whether the same request may succeed at once: the connection was lost, or the BMC is busy.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 500 | 502 | 503 | 504),
            _ => false,
        }
    }
}
