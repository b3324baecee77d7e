//! Hypervisors: what is observed, planned and reported.

mod observed;
pub mod plan;
pub mod status;
mod view;

pub use observed::{Abandoned, Observed};
pub use view::{Concerns, Connectivity, Event, View};
