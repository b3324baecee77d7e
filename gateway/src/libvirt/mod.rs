//! libvirt: the connection, and everything read from and written to it.

pub mod addresses;
pub mod capacity;
mod connection;
pub mod domain_xml;
pub mod domains;
mod error;
mod facts;
mod odd;
pub mod pools;
pub mod volumes;

pub use connection::{Libvirt, Link};
pub use error::{Doing, Error, Result, found};
pub use facts::{Driver, Facts, Guest};
