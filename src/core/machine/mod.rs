//! Machines: what is observed, planned and reported.

mod ask;
pub mod kind;
mod observed;
pub mod plan;
pub mod settings;
pub mod status;
pub mod units;

pub use ask::must_ask;
pub use observed::{
    Chosen, Contact, Held, Namesake, Observed, ObservedCluster, PendingClaim, Placement, Refusal,
    Seen, SpecProblem, Stuck, Told, Unheld, VirtualMachine, is_begun,
};
