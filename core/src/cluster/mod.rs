//! Clusters: what is observed, planned and reported.

mod attempt;
mod fleet;
pub mod live;
mod observed;
pub mod plan;
pub mod status;

pub use attempt::{Attempt, ReadAt};
pub use fleet::Fleet;
pub use observed::{Addons, Certificates, Health, MachineFact, Moves, Observed};
