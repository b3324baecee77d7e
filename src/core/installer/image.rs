//! How far the image of an installer is.

use std::path::PathBuf;

use super::{Area, AreaError};

/// An image that is here, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its file.
    pub file: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Where answers are put in.
    pub area: Area,
}

/// Why an image is not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It could not be fetched: tried again when it is asked for again.
    Fetch(String),
    /// What came has another SHA-256.
    Checksum(String),
    /// It cannot be told what to install.
    Area(AreaError),
}

/// How far an image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseState {
    /// It is being fetched.
    Fetching,
    /// It is here.
    Ready(Base),
    /// It is not.
    Failed(Failure),
}
