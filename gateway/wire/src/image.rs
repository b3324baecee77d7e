//! Images that root disks are based on.

use serde::{Deserialize, Serialize};

use crate::ImageCode;

/// The body of an image request.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageRequest {
    /// URL of the file, `http://` or `https://`. Only its host is logged: the URL may contain a
    /// signature.
    #[cfg_attr(feature = "gateway", schema(write_only, pattern = "^https?://"))]
    pub url: String,
    /// Format of the file.
    pub format: ImageFormat,
    /// Storage pool; it must have a directory (types dir, fs and netfs).
    #[serde(default = "crate::default_pool")]
    #[cfg_attr(feature = "gateway", schema(default = "default"))]
    pub pool: String,
}

/// Format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// QEMU's copy-on-write format, without a backing file.
    Qcow2,
    /// Raw disk content.
    Raw,
}

impl ImageFormat {
    /// The format's name in libvirt, QEMU and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qcow2 => "qcow2",
            Self::Raw => "raw",
        }
    }
}

/// An image in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// SHA-256 of the file.
    pub sha256: String,
    /// Storage pool.
    pub pool: String,
    /// Whether machines may use it.
    pub state: ImageState,
    /// Bytes received so far; the size of the file when it is ready.
    #[serde(default)]
    #[cfg_attr(feature = "gateway", schema(required = true))]
    pub received_bytes: u64,
    /// Size of the file in bytes, when the server sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Why the download failed; only with state `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ImageError>,
}

/// Whether machines may use an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageState {
    /// It is being downloaded.
    Fetching,
    /// It is complete, and its checksum is verified.
    Ready,
    /// The download failed; a new PUT retries it. A restart of the gateway discards this state.
    Failed,
    /// A state of a newer gateway: treated as not ready.
    #[serde(other, skip_serializing)]
    Other,
}

/// Why the download of an image failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct ImageError {
    // a String, not ImageCode: a newer gateway may send other codes
    /// One of `ChecksumMismatch`, `DiskFull`, `FetchFailed`, `ImageRefused`, `ImageTooLarge`,
    /// `PoolFailed`.
    pub code: String,
    /// Cause and remedy.
    pub detail: String,
}

impl ImageError {
    /// An error as a gateway returns it.
    pub fn new(code: ImageCode, detail: impl Into<String>) -> Self {
        Self {
            code: code.as_str().to_owned(),
            detail: detail.into(),
        }
    }
}

/// All images of this gateway.
#[cfg(feature = "gateway")]
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ImageList {
    /// Images, ordered by pool and checksum.
    pub items: Vec<Image>,
}
