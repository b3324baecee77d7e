//! Serves installation images to BMCs: the image of a Host with the answers for its installer in
//! it, at a URL with a random token, for one host and one installation.
//!
//! | file | what it holds |
//! |---|---|
//! | `library` | images, downloaded once and verified meanwhile |
//! | `download` | where an image may come from, after each redirection |
//! | `scan` | what is read off an image while its bytes pass |
//! | `served` | images that are served now, and the reports of installers |
//! | `range` | the requested range of an image; no I/O |
//! | `content` | an image with its embed area filled, in pieces |
//! | `http` | the listener |
//! | `connections` | limits of its connections |

mod connections;
mod content;
mod download;
mod http;
mod library;
mod range;
mod scan;
mod served;
#[cfg(test)]
mod tests;

pub use http::{Tls, TlsError, listen, serve};
pub use library::Library;
pub use served::{ImageShare, Media, Token};
