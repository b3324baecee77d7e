//! Images: fetched once per pool, verified, and shared by the disks that start as copies of them. An image that is
//! ready is a volume of libvirt's; only what is under way or has failed is remembered here.

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
