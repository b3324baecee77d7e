//! Errors of libvirt.

use virt::error::{Error as VirtError, ErrorDomain, ErrorNumber};

/// Result of a libvirt call.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of libvirt.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A libvirt call failed.
    #[error("failed to {action}")]
    Call {
        /// The attempted action, as in "failed to ...".
        action: &'static str,
        /// libvirt's error.
        source: VirtError,
    },
    /// The connection cannot be opened.
    #[error("failed to connect to libvirt at {uri}")]
    Connect {
        /// The connection URI.
        uri: String,
        /// libvirt's error.
        source: VirtError,
    },
    /// All workers are occupied, and none becomes free in time.
    #[error("failed to reach libvirt: all workers are busy; retry later")]
    Busy,
    /// The operation exceeds its timeout; it continues in the background.
    #[error("libvirt did not answer in time; the operation continues, retry later")]
    Slow,
    /// A worker panicked or was cancelled.
    #[error("failed to get an answer from a libvirt worker")]
    Worker(#[source] tokio::task::JoinError),
    /// libvirt returned an unexpected description or content.
    #[error("failed to read libvirt's description of {what}: {problem}")]
    Description {
        /// The described object.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// The message including libvirt's own, on one line.
    pub fn words(&self) -> String {
        match self {
            Self::Call { source, .. } | Self::Connect { source, .. } => {
                format!("{self}: {}", source.message().replace('\n', " "))
            }
            _ => self.to_string(),
        }
    }

    /// Whether libvirt is unavailable, as opposed to a failed operation: a retry may succeed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Busy | Self::Slow => true,
            Self::Call { source, .. } => {
                source
                    .domain()
                    .is_any(vec![ErrorDomain::Rpc, ErrorDomain::Remote])
                    || source.code().is_any(vec![
                        ErrorNumber::Rpc,
                        ErrorNumber::NoConnect,
                        ErrorNumber::InvalidConn,
                    ])
            }
            Self::Worker(_) | Self::Description { .. } => false,
        }
    }

    /// Whether libvirt's error code is `number`.
    pub fn is(&self, number: ErrorNumber) -> bool {
        matches!(self, Self::Call { source, .. } if source.code().is(number))
    }

    /// Whether the object does not exist.
    pub fn is_missing(&self) -> bool {
        [
            ErrorNumber::NoDomain,
            ErrorNumber::NoStoragePool,
            ErrorNumber::NoStorageVolume,
            ErrorNumber::NoNetwork,
            ErrorNumber::NoInterface,
            ErrorNumber::NoDomainMetadata,
        ]
        .into_iter()
        .any(|number| self.is(number))
    }

    /// Whether libvirt's driver does not support the operation.
    pub fn is_unsupported(&self) -> bool {
        self.is(ErrorNumber::NoSupport) || self.is(ErrorNumber::ArgumentUnsupported)
    }
}

/// Adds the attempted action to errors of libvirt.
pub trait Doing<T> {
    /// Adds the action, worded to follow "failed to".
    ///
    /// # Errors
    /// The error of `self`, with the action and the class of libvirt's error code.
    fn doing(self, action: &'static str) -> Result<T>;
}

impl<T> Doing<T> for std::result::Result<T, VirtError> {
    fn doing(self, action: &'static str) -> Result<T> {
        self.map_err(|source| Error::Call { action, source })
    }
}

/// Converts the error of a missing object to `None`.
///
/// # Errors
/// The error of `result`, unless [`Error::is_missing`] is true for it.
pub fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
