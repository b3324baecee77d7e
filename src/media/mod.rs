//! Installers, served to BMCs: the image that a Host names, with what its installer has to know put in. Behind a URL
//! that nobody can guess, for one host and one installation.
//!
//! | file | what it holds |
//! |---|---|
//! | `library` | images, fetched once and verified while they are received |
//! | `served` | what may be fetched now, and what installers said |
//! | `range` | which part of an image is asked for; pure |
//! | `content` | an image with its embed area filled, piece by piece |
//! | `http` | what the listener answers |
//! | `connections` | who may be connected to it, and for how long |

mod connections;
mod content;
mod http;
mod library;
mod range;
mod served;
#[cfg(test)]
mod tests;

pub use http::{Tls, TlsError, listen, serve};
pub use library::Library;
pub use served::{Media, Served, Token};
