//! The ClusterProfiles of a Cluster: what is observed and planned.

pub mod access;
mod desired;
mod input;
mod observed;
mod owned;
pub mod plan;
mod problems;

pub use access::{ExistingSecret, Kubeconfig};
pub use input::{Input, SecretSeen, Server};
pub use observed::{ClusterFacts, Existing, Observed, Ours};
pub use owned::OwnedFields;
pub use problems::{inventories, kept, refused};
