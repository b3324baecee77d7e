//! Why a script or a tunnel failed on a host that was reached.

use crate::api::conditions::Reason;
use std::sync::Arc;

/// Why a script gave no [`Output`](super::Output), or a tunnel did not open.
///
/// A script that ran and failed is an output with its exit code, not an error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The connection ended; whether the script did is unknown. Connect again and re-attach.
    #[error("failed to keep the SSH connection to {host}; what was running there may still be")]
    Disconnected {
        /// `user@address:port`.
        host: String,
    },
    /// A script did not end in time, and sshd answers all the same.
    #[error(
        "failed to get an answer from {host} within {seconds} s: sshd is there, and a script hangs; look on its \
         console for a disk or a mount that does not answer (dmesg, findmnt), or for a machine out of memory"
    )]
    Hangs {
        /// `user@address:port`.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// Other commands of ours hold all that the server opens at a time.
    #[error(
        "failed to open a command on {host} within {seconds} s: others of Tatara are under way, and sshd allows no \
         more; raise MaxSessions in its sshd_config"
    )]
    Busy {
        /// `user@address:port`.
        host: String,
        /// The limit.
        seconds: u64,
    },
    /// `sudo -n` did not start a shell.
    #[error(
        "failed to become root on {host} by sudo: {said:?}; allow it without a password \
         (/etc/sudoers.d/tatara: `{user} ALL=(ALL) NOPASSWD: ALL`), or log in as root"
    )]
    SudoRefused {
        /// `user@address:port`.
        host: String,
        /// Who asked.
        user: String,
        /// The last line of what it said.
        said: String,
    },
    /// The login gave no bash.
    #[error(
        "failed to start /bin/bash on {host}: {said:?}; install bash, and give {user} a login \
         shell without a forced command"
    )]
    ShellUnavailable {
        /// `user@address:port`.
        host: String,
        /// Who logged in.
        user: String,
        /// The last line of what it said.
        said: String,
    },
    /// A shell started, but not as root.
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
    /// The server opens no further command, though none of ours runs on this connection.
    #[error(
        "failed to open a command on {host}; check MaxSessions and the user's limits in sshd_config"
    )]
    CommandRefused {
        /// `user@address:port`.
        host: String,
        /// What the server said.
        #[source]
        source: Arc<russh::Error>,
    },
    /// The server did not open the tunnel.
    #[error(
        "failed to reach {to} through {host}; check that it listens there, and AllowTcpForwarding \
         and PermitOpen in sshd_config"
    )]
    TunnelRefused {
        /// `user@address:port` of the server that was to connect.
        host: String,
        /// `address:port` that it was to connect to.
        to: String,
        /// What the server said.
        #[source]
        source: Arc<russh::Error>,
    },
}

impl RunError {
    /// One word for a condition.
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
