//! Why the gateway does not start.

use std::io;
use std::path::PathBuf;

use crate::auth;

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It would answer nobody.
    #[error("nowhere to listen: give --listen, --unix-socket, or both")]
    Nowhere,
    /// It would answer everybody.
    #[error("--listen needs --tls-cert and --tls-key, and --client-ca or --token-file")]
    Unguarded,
    /// An address cannot be had.
    #[error("failed to listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A certificate or key makes no sense.
    #[error("failed to use {}: {problem}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Certificate and key do not make TLS.
    #[error("failed to set up TLS")]
    Tls(#[from] rustls::Error),
    /// The authority of client certificates does not verify any.
    #[error("failed to set up the verification of client certificates")]
    ClientAuthority(#[from] rustls::server::VerifierBuilderError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] auth::Error),
    /// Signals cannot be waited for.
    #[error("failed to wait for signals")]
    Signals(#[source] io::Error),
}
