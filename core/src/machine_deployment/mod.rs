//! MachineDeployments: what is observed, planned and reported.

pub mod live;
mod machines;
mod observed;
pub mod plan;
pub mod revision;
pub mod runs;
pub mod status;

pub use observed::{Counts, Observed, ObservedSet, Orphan, has_control_plane};
