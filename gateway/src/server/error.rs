//! Why the gateway does not start.

use std::io;
use std::path::PathBuf;

use crate::auth;

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither an address nor a Unix socket is configured.
    #[error("nowhere to listen: give --listen, --unix-socket, or both")]
    Nowhere,
    /// HTTPS is configured without a certificate or without client authentication.
    #[error("--listen needs --tls-cert and --tls-key, and --client-ca or --token-file")]
    Unguarded,
    /// An address or socket cannot be bound.
    #[error("failed to listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The I/O error.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A certificate or key cannot be parsed.
    #[error("failed to use {}: {problem}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// TLS cannot be set up with the certificate and key.
    #[error("failed to set up TLS")]
    Tls(#[from] rustls::Error),
    /// The CA cannot be used to verify client certificates.
    #[error("failed to set up the verification of client certificates")]
    ClientAuthority(#[from] rustls::server::VerifierBuilderError),
    /// The token file cannot be used.
    #[error(transparent)]
    Tokens(#[from] auth::Error),
    /// Signal handlers cannot be installed.
    #[error("failed to wait for signals")]
    Signals(#[source] io::Error),
}
