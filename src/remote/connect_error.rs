//! Why a host cannot be reached over SSH, for conditions.

use std::error::Error;
use std::sync::Arc;
use tatara_core::api::conditions::Reason;

/// Why a session cannot be opened. Cloneable, because callers that share an attempt share its
/// error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The TCP connection failed, or was lost before login.
    #[error("failed to reach {host} over SSH; check the address, the port, the network and sshd")]
    Unreachable {
        /// `user@address:port`.
        host: String,
        /// Error of the connection.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The connection, or handshake and login, exceeded the time limit.
    #[error(
        "failed to reach {host} over SSH within {seconds} s; check the address, the network and sshd"
    )]
    Timeout {
        /// `user@address:port`.
        host: String,
        /// The time limit.
        seconds: u64,
    },
    /// The host presented a key that is not pinned.
    #[error(
        "failed to verify the key of {host}: expected {}, but it presented {shown}; if the host was \
         reinstalled, verify that key on its console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and put it into \
         hostKeys in place of the old one, otherwise another server answers at that address", .expected.join(" or ")
    )]
    HostKeyChanged {
        /// `user@address:port`.
        host: String,
        /// Fingerprints of the pinned keys.
        expected: Vec<String>,
        /// Fingerprint of the presented key.
        shown: String,
    },
    /// The host has no key of any pinned type.
    #[error(
        "failed to verify the key of {host}: expected {}, but it offers only {}; if the host was \
         reinstalled, verify its new key on its console and put it into hostKeys in place of the old one",
        .expected.join(" or "), .offered.join(", ")
    )]
    HostKeyNotOffered {
        /// `user@address:port`.
        host: String,
        /// Fingerprints of the pinned keys.
        expected: Vec<String>,
        /// Key types that the host offers.
        offered: Vec<String>,
    },
    /// No key is pinned, and trust on first use is not enabled.
    #[error(
        "hostKeys of {host} is empty; add the host's public keys (from ssh-keyscan, verified on its \
         console), or set trustOnFirstUse: true on the host (jump hosts must be pinned)"
    )]
    HostKeyMissing {
        /// `user@address:port`.
        host: String,
    },
    /// A pinned key is malformed.
    #[error(
        "hostKeys[{index}] of {host} is not a public key: {value:?}; use the form of known_hosts \
         without the name, such as ssh-ed25519 AAAA…"
    )]
    HostKeyMalformed {
        /// `user@address:port`.
        host: String,
        /// Its index in `hostKeys`.
        index: usize,
        /// Its beginning.
        value: String,
    },
    /// The server refused the login.
    #[error(
        "failed to log in to {host} as {user} with key {key}; add the public key to \
         ~{user}/.ssh/authorized_keys there, or correct user or credentialsRef{}", .detail
    )]
    AuthenticationFailed {
        /// `user@address:port`.
        host: String,
        /// The user.
        user: String,
        /// Type and fingerprint of the offered key.
        key: String,
        /// Message of the server in parentheses, or empty.
        detail: String,
    },
    /// A jump host on the way failed.
    #[error("failed to connect through jump host {hop}")]
    JumpFailed {
        /// `user@address:port` of the jump host.
        hop: String,
        /// Error of the jump host.
        #[source]
        source: Box<ConnectError>,
    },
    /// The SSH negotiation failed.
    #[error(
        "failed to negotiate SSH with {host}; check that the port is sshd's and that its release is supported"
    )]
    Protocol {
        /// `user@address:port`.
        host: String,
        /// Error of the negotiation.
        #[source]
        source: Arc<russh::Error>,
    },
}

impl ConnectError {
    /// The reason for a condition.
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

    /// Whether the same attempt may succeed later without a change of the configuration.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Protocol { .. } => true,
            Self::JumpFailed { source, .. } => source.is_transient(),
            _ => false,
        }
    }
}
