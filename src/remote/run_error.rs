//! Why a script or a tunnel fails on a connected host.

use std::sync::Arc;
use tatara_core::api::conditions::Reason;

/// Why a script has no [`Output`](super::Output), or a tunnel cannot be opened.
///
/// A script that runs and fails is an output with its exit code, not an error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The connection was lost; whether the script still runs is unknown. Connect again and
    /// re-attach.
    #[error("lost the SSH connection to {host}; its command may still be running there")]
    Disconnected {
        /// `user@address:port`.
        host: String,
    },
    /// A script exceeded its time limit, although sshd answers.
    #[error(
        "a script on {host} did not finish within {seconds} s, although sshd answers; check on its \
         console for a disk or mount that does not answer (dmesg, findmnt), or for lack of memory"
    )]
    Hangs {
        /// `user@address:port`.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// Our other commands use all channels that the server allows.
    #[error(
        "failed to start a command on {host} within {seconds} s: other commands of Tatara are running, and sshd allows no \
         more; raise MaxSessions in its sshd_config"
    )]
    Busy {
        /// `user@address:port`.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// `sudo -n` failed to start a shell.
    #[error(
        "failed to become root on {host} by sudo: {said:?}; allow it without a password \
         (/etc/sudoers.d/tatara: `{user} ALL=(ALL) NOPASSWD: ALL`), or log in as root"
    )]
    SudoRefused {
        /// `user@address:port`.
        host: String,
        /// The user.
        user: String,
        /// The last line of its output.
        said: String,
    },
    /// The login failed to start bash.
    #[error(
        "failed to start /bin/bash on {host}: {said:?}; install bash, and give {user} a login \
         shell without a forced command"
    )]
    ShellUnavailable {
        /// `user@address:port`.
        host: String,
        /// The user.
        user: String,
        /// The last line of its output.
        said: String,
    },
    /// The shell does not run as root.
    #[error(
        "failed to become root on {host}: commands run as uid {uid}; set privilege: sudo, or \
         user: root, and check sudo's runas_default"
    )]
    NotRoot {
        /// `user@address:port`.
        host: String,
        /// Effective user ID of the shell.
        uid: String,
    },
    /// The server opens no channel, although no other command uses this connection.
    #[error(
        "failed to start a command on {host}; check MaxSessions and the user's limits in sshd_config"
    )]
    CommandRefused {
        /// `user@address:port`.
        host: String,
        /// Message of the server.
        #[source]
        source: Arc<russh::Error>,
    },
    /// The server refused to open the tunnel.
    #[error(
        "failed to reach {to} through {host}; check that a server listens on {to}, and AllowTcpForwarding \
         and PermitOpen in sshd_config"
    )]
    TunnelRefused {
        /// `user@address:port` of the SSH server.
        host: String,
        /// `address:port` of the destination.
        to: String,
        /// Message of the server.
        #[source]
        source: Arc<russh::Error>,
    },
}

impl RunError {
    /// Whether a server that allows tunnels found that nobody listens where one was to end (RFC
    /// 4254, 5.1: `SSH_OPEN_CONNECT_FAILED`).
    pub fn is_closed_port(&self) -> bool {
        use russh::{ChannelOpenFailure::ConnectFailed, Error::ChannelOpenFailure};
        matches!(self, Self::TunnelRefused { source, .. } if matches!(**source, ChannelOpenFailure(ConnectFailed)))
    }

    /// The reason for a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Disconnected { .. } => Reason::SshDisconnected,
            Self::Hangs { .. } => Reason::HostHangs,
            Self::Busy { .. } => Reason::SshBusy,
            Self::SudoRefused { .. } => Reason::SudoRefused,
            Self::ShellUnavailable { .. } => Reason::ShellUnavailable,
            Self::NotRoot { .. } => Reason::NotRoot,
            Self::CommandRefused { .. } => Reason::CommandRefused,
            Self::TunnelRefused { .. } => Reason::TunnelRefused,
        }
    }
}
