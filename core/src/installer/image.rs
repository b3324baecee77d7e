//! Progress of the download of an installer's image.

use std::path::PathBuf;

use super::{Area, AreaError};

/// An image that was downloaded and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its file.
    pub file: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The area for the answers.
    pub area: Area,
}

/// Why an image cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It could not be downloaded; the next request tries again.
    Fetch(String),
    /// The download has another SHA-256.
    Checksum(String),
    /// Its embed area cannot be used.
    Area(AreaError),
}

/// Progress of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseState {
    /// It is being downloaded.
    Fetching,
    /// It was downloaded and verified.
    Ready(Base),
    /// It cannot be used.
    Failed(Failure),
}
