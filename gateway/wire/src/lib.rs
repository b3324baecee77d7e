//! What `tatara-gateway` and its client say to each other, version 1: requests, answers, events, and the words for
//! programs in refusals. Data only. Both are built from this, and either may be of another release than the other:
//!
//! | who reads | what it does not know | why |
//! |---|---|---|
//! | the gateway a request | a field is refused (`UnknownField`), and so is a value | it would be ignored otherwise |
//! | the client an answer | a field is left out, a word is read as "other" | the gateway may be newer |
//!
//! So nothing here denies unknown fields: the gateway's reader of bodies does. What is at its default is left out of
//! requests, since the gateway may be older than its client.
//!
//! | module | what it holds |
//! |---|---|
//! | `spec`, `power`, `image` | requests, and images as they are answered |
//! | `machine`, `capacity`, `problem` | answers in full, as the gateway writes them; with feature `gateway` |
//! | [`read`] | what a client reads of those |
//! | `state` | words in answers, for both |
//! | [`event`] | events, and their data |
//! | `code` | words for programs, in refusals and of images that could not be had |

#[cfg(feature = "gateway")]
mod capacity;
mod code;
pub mod event;
mod image;
#[cfg(feature = "gateway")]
mod machine;
mod power;
#[cfg(feature = "gateway")]
mod problem;
pub mod read;
mod spec;
mod state;
#[cfg(test)]
#[cfg(feature = "gateway")]
mod tests;

#[cfg(feature = "gateway")]
pub use capacity::{Acceleration, Amount, Capacity, PoolCapacity};
pub use code::{Code, ImageCode};
#[cfg(feature = "gateway")]
pub use image::ImageList;
pub use image::{Image, ImageError, ImageFormat, ImageRequest, ImageState};
#[cfg(feature = "gateway")]
pub use machine::{Machine, MachineInterface, MachineList};
pub use power::{PowerAction, PowerRequest};
#[cfg(feature = "gateway")]
pub use problem::ProblemBody;
pub use spec::{DataDisk, Firmware, InterfaceSpec, MachineRequest, MachineSpec, RootDisk, Seed};
pub use state::{Address, AddressSource, MachineState};

/// Pool that is used when none is named.
pub const DEFAULT_POOL: &str = "default";

/// Longest request that a gateway reads, in bytes.
pub const LONGEST_REQUEST: usize = 1 << 20;

/// Longest answer about one thing, and longest event, that a client reads, in bytes: a machine with all that it may have
/// is a tenth of it.
pub const LONGEST_ANSWER: usize = 256 << 10;

fn default_pool() -> String {
    DEFAULT_POOL.to_owned()
}
