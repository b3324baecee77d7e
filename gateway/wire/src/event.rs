//! Events: first all objects, then `synced`, then changes. Their data is a machine, an image or a
//! capacity as in the responses, or one of the types here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A machine was added or changed.
pub const MACHINE: &str = "machine";
/// A machine was deleted: [`MachineGone`].
pub const MACHINE_GONE: &str = "machine-gone";
/// An image was added or changed.
pub const IMAGE: &str = "image";
/// An image was deleted: [`ImageGone`].
pub const IMAGE_GONE: &str = "image-gone";
/// The capacity changed.
pub const CAPACITY: &str = "capacity";
/// The initial list is complete; changes follow.
pub const SYNCED: &str = "synced";

/// Interval of keep-alive comments on an idle stream.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event's data: a deleted machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "gateway", derive(utoipa::ToSchema))]
pub struct MachineGone {
    /// Its id.
    #[cfg_attr(feature = "gateway", schema(format = "uuid"))]
    pub id: String,
}

/// An event's data: a deleted image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageGone {
    /// Storage pool that it was in.
    #[serde(default)]
    pub pool: String,
    /// SHA-256 of the file.
    pub sha256: String,
}
