//! Workload clusters, through their own API: Nodes, health, drain, addons.
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | the connected workload clusters |
//! | [`cluster`] | one workload cluster: its client, a snapshot of its Nodes, its connectivity |
//! | [`health`] | `/readyz` and `/version` |
//! | [`given`] | kubeconfigs from users |
//! | [`nodes`] | writing to Nodes: labels, annotations, taints, cordon, deletion |
//! | [`drain`] | evicting pods; [`tatara_core::drain`] has the rules; [`drain_watch`] reports the deletion of pods |
//! | [`volumes`] | whether volumes are still attached to a Node |
//! | [`addons`] | server-side apply of [`manifests`] |
//! | [`tokens`] | bootstrap tokens |
//! | [`kubeadm_config`] | what kubeadm has recorded of the cluster |
//! | [`consumer`] | the identity of consumers of a ClusterProfile |
//! | [`properties`] | ClusterProperties |
//!
//! Everything here uses a [`kube::Client`] and does not depend on how it reaches the workload
//! cluster.

pub mod addons;
pub mod cluster;
pub mod consumer;
pub mod drain;
pub mod drain_watch;
pub mod error;
pub mod given;
pub mod health;
pub mod kubeadm_config;
pub mod manifests;
mod node_index;
pub mod nodes;
pub mod properties;
pub mod registry;
pub mod tokens;
pub mod volumes;
mod watch;

pub use cluster::{ClusterKey, Connectivity, Wake, WorkloadCluster};
pub use error::Error;
pub use registry::Registry;

/// The configuration of a client of a workload cluster, from that of its kubeconfig.
///
/// kube repeats a request that is answered with 429 up to 15 times, for minutes; but the Eviction
/// API answers 429 if a `PodDisruptionBudget` blocks an eviction, and 503 is a valid answer to a
/// health probe. The next pass repeats a failed request.
pub fn client_config(mut config: kube::Config) -> kube::Config {
    config.default_retry = false;
    config
}
