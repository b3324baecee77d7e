//! ClusterProfiles (SIG Multicluster, KEP-4322): what others learn of a Cluster and how they reach it.
//! Reconciled per Cluster, beside the Cluster's own controller: observe, plan, execute.
//!
//! Consumers drop their clients on every event of a profile, so it is written only when something
//! differs, `accessProviders` outlive outages, and each status is what was detected, never a wish.

mod access;
mod desired;
mod execute;
mod input;
mod memory;
mod observe;
mod owned;
pub mod plan;
mod problems;
mod publisher;

pub use input::{Error, Input, Report, Server};
pub use problems::inventories;
pub use publisher::Publisher;
