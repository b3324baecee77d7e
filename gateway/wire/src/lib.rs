//! The protocol between `tatara-gateway` and its client, version 1: requests, responses, events and
//! error codes. Types only. Both sides are built from this crate, and their releases may differ:
//!
//! | reader | unknown content | why |
//! |---|---|---|
//! | gateway, of a request | rejects an unknown field (`UnknownField`) or value | it would be ignored silently |
//! | client, of a response | ignores a field, reads an unknown value as "other" | the gateway may be newer |
//!
//! So no type here denies unknown fields: the gateway's body extractor does. Requests omit fields
//! with default values, because the gateway may be older than its client.
//!
//! | module | content |
//! |---|---|
//! | `spec`, `power`, `image` | requests, and images in responses |
//! | `machine`, `capacity`, `problem` | complete responses, as the gateway writes them; with feature `gateway` |
//! | [`read`] | the parts of those responses that a client reads |
//! | `state` | enums in responses, for both sides |
//! | [`event`] | events and their data |
//! | `code` | codes of problems and of failed images |

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

/// Default storage pool.
pub const DEFAULT_POOL: &str = "default";

/// Size limit of a request body, in bytes.
pub const LONGEST_REQUEST: usize = 1 << 20;

/// Size limit, in bytes, of a response about one object and of an event, as enforced by clients:
/// ten times the largest machine.
pub const LONGEST_ANSWER: usize = 256 << 10;

fn default_pool() -> String {
    DEFAULT_POOL.to_owned()
}
