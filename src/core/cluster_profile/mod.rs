//! The ClusterProfiles of a Cluster: what is observed and planned.

pub mod access;
mod desired;
mod input;
mod observed;
mod owned;
pub mod plan;
mod problems;

pub use access::{Found, Kubeconfig};
pub use input::{Input, Server};
pub use observed::{ClusterFacts, Existing, Observed, Ours};
pub use owned::Owned;
pub use problems::{inventories, not_kept};
