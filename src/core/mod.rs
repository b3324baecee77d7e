//! What is decided, and nothing else: no I/O, no clock, no client.

pub mod finalizers;
mod next;
mod plan;

pub use next::Next;
pub use plan::{Plan, Reports};
