//! Hypervisors: what is observed, planned and reported.

pub mod live;
mod observed;
pub mod plan;
pub mod status;
mod view;

pub use observed::{AbandonedMachine, Observed};
pub use view::{Concerns, Connectivity, Event, LARGEST, View};
