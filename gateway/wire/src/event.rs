//! Events: first everything that there is, then `synced`, then what changes. Their data is a machine, an image or a
//! capacity as it is answered, or one of these.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A machine came, or is different.
pub const MACHINE: &str = "machine";
/// A machine is no more: [`MachineGone`].
pub const MACHINE_GONE: &str = "machine-gone";
/// An image came, or is different.
pub const IMAGE: &str = "image";
/// An image is no more: [`ImageGone`].
pub const IMAGE_GONE: &str = "image-gone";
/// The capacity is different.
pub const CAPACITY: &str = "capacity";
/// All that there is has been told; what follows is news.
pub const SYNCED: &str = "synced";

/// How long a gateway says nothing: after it, a comment.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event's data: a machine that is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct MachineGone {
    /// Its id.
    #[cfg_attr(feature = "gateway", schema(format = "uuid"))]
    pub id: String,
}

/// An event's data: an image that is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGone {
    /// Storage pool that it was in.
    #[serde(default)]
    pub pool: String,
    /// SHA-256 of the file.
    pub sha256: String,
}
