//! Changes for all who listen, from one poll of libvirt per gateway: the binding has no callbacks for domains.

mod diff;
mod hub;
mod listen;
mod poll;

pub use diff::{Change, Snapshot, diff};
pub use hub::Hub;
pub use listen::{StreamEnd, StreamEvent, listen};
pub use poll::run;
