//! Images: downloaded once per pool, verified, and shared as backing files of disks. A ready image
//! is a libvirt volume; only running and failed downloads are kept in memory.

mod bounds;
mod delete;
mod error;
mod fetch;
mod fetches;
mod file;
mod found;

pub use bounds::Bounds;
pub use delete::delete;
pub use error::{Error, Result};
pub use fetches::{Images, request, sweep};
pub use file::{header_problem, sweep_folder};
pub use found::{list, one, volume};
