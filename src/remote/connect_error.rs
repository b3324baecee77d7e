//! Why a host could not be reached, in the words of a condition.

use crate::api::conditions::Reason;
use std::error::Error;
use std::sync::Arc;

/// Why there is no session. Cloneable, because callers that share an attempt share its error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// No TCP connection, or it ended before SSH was up.
    #[error("failed to reach {host} over SSH; check the address, the port, the network and sshd")]
    Unreachable {
        /// `user@address:port`.
        host: String,
        /// What the network said.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// TCP, or handshake and login, did not end in time.
    #[error(
        "failed to reach {host} over SSH within {seconds} s; check the address, the network and sshd"
    )]
    Timeout {
        /// `user@address:port`.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// The host showed a key that is not pinned.
    #[error(
        "failed to verify the key of {host}: expected {}, but it showed {shown}; if the host was \
         reinstalled, compare the new key on its console and put it into hostKeys, otherwise \
         something else answers at that address", .expected.join(" or ")
    )]
    HostKeyChanged {
        /// `user@address:port`.
        host: String,
        /// Fingerprints of the pinned keys.
        expected: Vec<String>,
        /// Fingerprint of the key that was shown.
        shown: String,
    },
    /// The host has no key of any pinned type.
    #[error(
        "failed to verify the key of {host}: expected {}, but it offers only {}; if the host was \
         reinstalled, compare its new key on its console and put it into hostKeys",
        .expected.join(" or "), .offered.join(", ")
    )]
    HostKeyNotOffered {
        /// `user@address:port`.
        host: String,
        /// Fingerprints of the pinned keys.
        expected: Vec<String>,
        /// Types of key that the host has.
        offered: Vec<String>,
    },
    /// No key is pinned, and the user did not ask for first use.
    #[error(
        "hostKeys of {host} is empty; pin the host's public keys (ssh-keyscan, compared on its \
         console), or set trustOnFirstUse: true on the host (jump hosts must be pinned)"
    )]
    HostKeyMissing {
        /// `user@address:port`.
        host: String,
    },
    /// A pinned key cannot be read.
    #[error(
        "hostKeys[{index}] of {host} is not a public key: {value:?}; write it as in known_hosts \
         without the name, such as ssh-ed25519 AAAA…"
    )]
    HostKeyMalformed {
        /// `user@address:port`.
        host: String,
        /// Its place in `hostKeys`.
        index: usize,
        /// Its beginning.
        value: String,
    },
    /// The server did not let the user in.
    #[error(
        "failed to log in to {host} as {user} with key {key}; add the public key to \
         ~{user}/.ssh/authorized_keys there, or correct user or credentialsRef{}", .detail
    )]
    AuthenticationFailed {
        /// `user@address:port`.
        host: String,
        /// Who tried.
        user: String,
        /// Type and fingerprint of the key that was tried.
        key: String,
        /// What the server said, in parentheses, or nothing.
        detail: String,
    },
    /// A jump host on the way failed.
    #[error("failed to go through jump host {hop}")]
    JumpFailed {
        /// `user@address:port` of the jump host.
        hop: String,
        /// What failed there.
        #[source]
        source: Box<ConnectError>,
    },
    /// The other side does not speak SSH as it should.
    #[error("failed to negotiate SSH with {host}; check that sshd listens there and is current")]
    Protocol {
        /// `user@address:port`.
        host: String,
        /// What was wrong.
        #[source]
        source: Arc<russh::Error>,
    },
}

impl ConnectError {
    /// One word for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => Reason::SshUnreachable,
            Self::HostKeyChanged { .. } | Self::HostKeyNotOffered { .. } => Reason::HostKeyChanged,
            Self::HostKeyMissing { .. } => Reason::HostKeyMissing,
            Self::HostKeyMalformed { .. } => Reason::HostKeyMalformed,
            Self::AuthenticationFailed { .. } => Reason::AuthenticationFailed,
            Self::JumpFailed { .. } => Reason::JumpHostFailed,
            Self::Protocol { .. } => Reason::SshProtocolError,
        }
    }

    /// Whether the same attempt may succeed later with nothing changed by anybody.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Protocol { .. } => true,
            Self::JumpFailed { source, .. } => source.is_transient(),
            _ => false,
        }
    }
}
