//! What machines' disks start as.

use serde::{Deserialize, Serialize};

use crate::ImageCode;

/// The body of an image request.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageRequest {
    /// Where it is fetched from: `http://` or `https://`. Never logged whole: it may carry a signature.
    #[cfg_attr(feature = "gateway", schema(write_only, pattern = "^https?://"))]
    pub url: String,
    /// Format of the file.
    pub format: ImageFormat,
    /// Storage pool; it must have a folder (types dir, fs and netfs).
    #[serde(default = "crate::default_pool")]
    #[cfg_attr(feature = "gateway", schema(default = "default"))]
    pub pool: String,
}

/// Format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// QEMU's copy-on-write format, without a backing file of its own.
    Qcow2,
    /// A plain copy of a disk.
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
    /// Bytes that were received; the whole file's when it is ready.
    #[serde(default)]
    #[cfg_attr(feature = "gateway", schema(required = true))]
    pub received_bytes: u64,
    /// Bytes of the whole file, when the server says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Why it failed; only with state `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ImageError>,
}

/// Whether machines may use an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageState {
    /// It is being received.
    Fetching,
    /// It is whole, and its checksum is right.
    Ready,
    /// It could not be fetched; a new PUT tries again. Forgotten when the gateway restarts.
    Failed,
    /// Something that a newer gateway says: it cannot be used yet.
    #[serde(other, skip_serializing)]
    Other,
}

/// Why an image could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct ImageError {
    // text, and no ImageCode: a newer gateway may have more of them
    /// One word: `ChecksumMismatch`, `DiskFull`, `FetchFailed`, `ImageRefused`, `ImageTooLarge`, `PoolFailed`.
    pub code: String,
    /// What was seen, and what to do.
    pub detail: String,
}

impl ImageError {
    /// An error as a gateway tells it.
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
    /// Images, by pool and checksum.
    pub items: Vec<Image>,
}
