//! Errors of image requests.

use crate::api::types::ImageFormat;
use crate::field::BadField;
use crate::libvirt;

/// Result of an operation on images.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of image requests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No image has this checksum.
    #[error("image {sha256} does not exist in pool {pool:?}")]
    Unknown {
        /// SHA-256.
        sha256: String,
        /// Name of the pool.
        pool: String,
    },
    /// The image exists, or is being downloaded, in another format.
    #[error("image {sha256} exists in pool {pool:?} with format {format}; request that format, or delete the image first", format = existing.name())]
    Differs {
        /// SHA-256.
        sha256: String,
        /// Name of the pool.
        pool: String,
        /// Its format.
        existing: ImageFormat,
    },
    /// The image is in use, such as the backing file of a disk.
    #[error("image {sha256} is in use by {user}; delete that first")]
    InUse {
        /// SHA-256.
        sha256: String,
        /// The volume or domain that uses it.
        user: String,
    },
    /// A field is invalid.
    #[error(transparent)]
    BadField(#[from] BadField),
    /// libvirt's driver does not support it.
    #[error("libvirt's driver does not support {what}")]
    NotSupported {
        /// The missing feature.
        what: &'static str,
    },
    /// libvirt failed.
    #[error(transparent)]
    Libvirt(#[from] libvirt::Error),
}
