//! What can go wrong with a BMC, said for people.

use std::error::Error as StdError;

use super::choose::{NoSystem, NotAllowed};

/// Why a BMC did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it ended before the answer, each time.
    #[error(
        "failed to reach the BMC at {address}; check spec.bmc.address, the network, and that its web service is on"
    )]
    Unreachable {
        /// Its URL.
        address: String,
        /// What the network said.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// It shows another certificate than the pinned one.
    #[error(
        "the BMC at {address} shows certificate {shown}, and {pinned} is pinned; if it was given a new certificate, \
         compare that on its console and put it into spec.bmc.tls.fingerprint, otherwise something else answers \
         at that address"
    )]
    CertificateChanged {
        /// Its URL.
        address: String,
        /// What it shows.
        shown: String,
        /// What is pinned.
        pinned: String,
    },
    /// Its certificate does not come from the authority.
    #[error(
        "the BMC at {address} shows certificate {shown}, which spec.bmc.tls.certificateAuthorityRef does not \
         vouch for at that address ({problem}); give it a certificate of that authority with the address in it, \
         or pin this one by spec.bmc.tls.fingerprint once you have compared it on the BMC's console"
    )]
    CertificateUntrusted {
        /// Its URL.
        address: String,
        /// What it shows.
        shown: String,
        /// What the check found.
        problem: String,
    },
    /// User or password is wrong. Not tried again with the same, so that nobody is locked out.
    #[error(
        "the BMC at {address} refuses user {username} (HTTP {status}); correct the Secret of \
         spec.bmc.credentialsRef: it is not tried again before that Secret or spec.bmc changes{said}"
    )]
    LoginRefused {
        /// Its URL.
        address: String,
        /// Who tried.
        username: String,
        /// HTTP status.
        status: u16,
        /// What it said, with ": " before it, or nothing.
        said: String,
    },
    /// It answered with an error: 4xx, or 5xx each time.
    #[error("the BMC at {address} answered {what} with HTTP {status}{said}")]
    Refused {
        /// Its URL.
        address: String,
        /// Method and path.
        what: String,
        /// HTTP status.
        status: u16,
        /// What it said, with ": " before it, or nothing.
        said: String,
    },
    /// It does not do the power action now.
    #[error("the BMC at {address} refused {action} with HTTP {status}{said}")]
    PowerRefused {
        /// Its URL.
        address: String,
        /// The power action.
        action: &'static str,
        /// HTTP status.
        status: u16,
        /// What it said, with ": " before it, or nothing.
        said: String,
    },
    /// What it answered is no Redfish.
    #[error("the BMC at {address} answered {what} with something else than Redfish: {problem}")]
    Malformed {
        /// Its URL.
        address: String,
        /// Method and path.
        what: String,
        /// What is wrong.
        problem: String,
    },
    /// None of its systems is the one that is meant.
    #[error("the BMC at {address}: {problem}")]
    NoSystem {
        /// Its URL.
        address: String,
        /// Which there are.
        problem: NoSystem,
    },
    /// It does not offer the power action.
    #[error("the BMC at {address}: {problem}")]
    NotAllowed {
        /// Its URL.
        address: String,
        /// What it offers.
        problem: NotAllowed,
    },
    /// It accepted a change, and the change did not come.
    #[error(
        "the BMC at {address} accepted {wanted}, and after {seconds} s it still says {seen}; look at its console"
    )]
    NotReached {
        /// Its URL.
        address: String,
        /// What was wanted.
        wanted: String,
        /// What it says.
        seen: String,
        /// How long that was waited for.
        seconds: u64,
    },
    /// A task of it ended badly, or not at all.
    #[error("the BMC at {address}: its task {task} {problem}")]
    TaskFailed {
        /// Its URL.
        address: String,
        /// Path of the task.
        task: String,
        /// How it ended.
        problem: String,
    },
    /// It has no virtual drive for that.
    #[error(
        "the BMC at {address} has no virtual media for a CD (looked under the system and its managers: {looked}); \
         it may need a licence"
    )]
    NoVirtualMedia {
        /// Its URL.
        address: String,
        /// What was there.
        looked: String,
    },
    /// No client can be made with these settings.
    #[error("failed to make a TLS client for the BMC at {address}: {problem}")]
    Client {
        /// Its URL.
        address: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// Whether the same request may succeed when it is made again at once: the connection ended, or the BMC
    /// is busy.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 500 | 502 | 503 | 504),
            _ => false,
        }
    }
}
