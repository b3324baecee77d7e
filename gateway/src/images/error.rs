//! Why an image is not what was asked for.

use crate::api::types::ImageFormat;
use crate::field::BadField;
use crate::libvirt;

/// Result of what is done with images.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an image is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that checksum.
    #[error("image {sha256} does not exist in pool {pool:?}")]
    Unknown {
        /// SHA-256.
        sha256: String,
        /// Name of the pool.
        pool: String,
    },
    /// It is there, or under way, with another format.
    #[error("image {sha256} exists in pool {pool:?} with format {format}; request that format, or delete the image first", format = existing.name())]
    Differs {
        /// SHA-256.
        sha256: String,
        /// Name of the pool.
        pool: String,
        /// The format that it has.
        existing: ImageFormat,
    },
    /// Disks are built upon it.
    #[error("image {sha256} is in use by {user}; delete that first")]
    InUse {
        /// SHA-256.
        sha256: String,
        /// A volume or domain.
        user: String,
    },
    /// A field makes no sense here.
    #[error(transparent)]
    BadField(#[from] BadField),
    /// The driver has no such thing.
    #[error("libvirt's driver does not support {what}")]
    NotSupported {
        /// What it lacks.
        what: &'static str,
    },
    /// libvirt did not do what was asked.
    #[error(transparent)]
    Libvirt(#[from] libvirt::Error),
}
