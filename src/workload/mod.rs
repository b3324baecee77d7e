//! The clusters that we made, seen through their own API: Nodes, health, drain, addons.
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | which member clusters we are connected to |
//! | [`member`] | one member: its client, a snapshot of its Nodes, whether it answers |
//! | [`health`] | `/readyz` and `/version` |
//! | [`given`] | kubeconfigs that somebody else wrote |
//! | [`nodes`] | writing to Nodes: labels, annotations, taints, cordon, deletion |
//! | [`drain`] | evicting pods; [`drain_plan`] holds the rules; [`drain_watch`] tells when one has gone |
//! | [`volumes`] | whether volumes are still attached to a Node |
//! | [`addons`] | server-side apply of [`manifests`] |
//! | [`tokens`] | bootstrap tokens |
//! | [`consumer`] | the identity of those who read a ClusterProfile |
//! | [`properties`] | ClusterProperties |
//!
//! Everything here works on a [`kube::Client`] and knows nothing of how it reaches the member.

pub mod addons;
pub mod consumer;
pub mod drain;
pub mod drain_plan;
pub mod drain_progress;
pub mod drain_watch;
pub mod error;
pub mod given;
pub mod health;
pub mod manifests;
pub mod member;
mod node_index;
pub mod nodes;
pub mod properties;
pub mod registry;
pub mod tokens;
pub mod volumes;
mod watch;

pub use error::Error;
pub use member::{Connectivity, Member, MemberKey, Wake};
pub use registry::Registry;

/// Settings that every client of a member cluster needs, over those of its kubeconfig.
///
/// kube repeats a request that is answered with 429 up to 15 times, for minutes; but 429 is how the
/// Eviction API says that a `PodDisruptionBudget` holds a pod, and 503 is an answer for a health
/// probe. What failed is tried again by the pass that comes next.
pub fn client_config(mut config: kube::Config) -> kube::Config {
    config.default_retry = false;
    config
}
