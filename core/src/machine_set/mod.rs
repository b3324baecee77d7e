//! MachineSets: what is observed, planned and reported.

pub mod live;
mod observed;
pub mod plan;
pub mod status;

pub use observed::{Gate, Observed, ObservedMachine, Owner, Seed, creation, is_updating};
