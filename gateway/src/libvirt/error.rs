//! What libvirt answers when it does not do what was asked.

use virt::error::{Error as VirtError, ErrorDomain, ErrorNumber};

/// Result of a call of libvirt.
pub type Result<T> = std::result::Result<T, Error>;

/// Why libvirt did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libvirt refused a call, or the call failed.
    #[error("failed to {action}")]
    Call {
        /// What was tried.
        action: &'static str,
        /// What libvirt said.
        source: VirtError,
    },
    /// Nobody answers at libvirt's socket.
    #[error("failed to connect to libvirt at {uri}")]
    Connect {
        /// libvirt's address.
        uri: String,
        /// What libvirt said.
        source: VirtError,
    },
    /// All workers wait for libvirt.
    #[error("failed to reach libvirt: all workers are busy; retry later")]
    Busy,
    /// A worker waits for libvirt.
    #[error("libvirt did not answer in time; the operation continues, retry later")]
    Slow,
    /// A worker ended without an answer.
    #[error("failed to get an answer from a libvirt worker")]
    Worker(#[source] tokio::task::JoinError),
    /// libvirt described something in words that make no sense.
    #[error("failed to read libvirt's description of {what}: {problem}")]
    Description {
        /// Of what.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// libvirt's own words, on one line.
    pub fn words(&self) -> String {
        match self {
            Self::Call { source, .. } | Self::Connect { source, .. } => {
                format!("{self}: {}", source.message().replace('\n', " "))
            }
            _ => self.to_string(),
        }
    }

    /// Whether the connection is at fault, not what was asked.
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

    /// Whether libvirt said `number`.
    pub fn is(&self, number: ErrorNumber) -> bool {
        matches!(self, Self::Call { source, .. } if source.code().is(number))
    }

    /// Whether what was looked up is not there.
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

    /// Whether this driver of libvirt cannot do that at all.
    pub fn is_unsupported(&self) -> bool {
        self.is(ErrorNumber::NoSupport) || self.is(ErrorNumber::ArgumentUnsupported)
    }
}

/// Says what was tried when a call of libvirt failed.
pub trait Doing<T> {
    /// Adds what was tried, as it stands after "failed to".
    fn doing(self, action: &'static str) -> Result<T>;
}

impl<T> Doing<T> for std::result::Result<T, VirtError> {
    fn doing(self, action: &'static str) -> Result<T> {
        self.map_err(|source| Error::Call { action, source })
    }
}

/// `None` where what was looked up is not there.
pub fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
