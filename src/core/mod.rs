//! What is decided, and nothing else: no I/O, no clock, no client.

pub mod finalizers;
pub mod kstatus;
mod next;
mod plan;
pub mod trouble;

pub use next::Next;
pub use plan::{Plan, Reports};
