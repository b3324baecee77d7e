//! Clusters: what is observed, planned and reported.

mod attempt;
mod observed;
pub mod plan;
pub mod status;

pub use attempt::{Attempt, ReadAt};
pub use observed::{Addons, Certificates, Health, MachineFact, Observed};
