//! What is put into an installer for one host: answers for Debian's installer, the script that
//! finds the disk, and the keys by which we and the host know each other. Pure.
//!
//! | file | what it holds |
//! |---|---|
//! | `render` | `templates/installer/` with the values of one host |
//! | `cpio` | files as an archive that Linux unpacks as an initial RAM disk |
//! | `area` | the room for that archive in an ISO image |
//! | `image` | progress of the download of that image |
//! | `report` | what the installer reports |

mod area;
mod cpio;
mod image;
mod render;
mod report;

pub use area::empty as empty_area;
pub use area::{Area, AreaError, Finder};
pub use cpio::{File, archive};
pub use image::{Base, BaseState, Failure};
pub use render::{Answers, RenderError, files};
pub use report::Report;

#[cfg(test)]
mod tests;
