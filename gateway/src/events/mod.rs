//! Event streams, all fed by one poll of libvirt: the `virt` crate has no callbacks for domain
//! events.

mod diff;
mod hub;
mod listen;
mod poll;

pub use diff::{Change, Snapshot, diff};
pub use hub::Hub;
pub use listen::{StreamEnd, StreamEvent, listen};
pub use poll::run;
