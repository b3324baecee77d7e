//! What the manager knows of a Cluster that is published. Pure.

use std::sync::Arc;

use crate::api::Cluster;
use crate::control_plane::health::Verdict;

/// Where a workload cluster's API is served, and what it is verified by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `https://host:port`.
    pub url: String,
    /// Certificates, PEM.
    pub authority_pem: String,
}

/// What the watch shows of a Secret: it tells whether what was read of it holds still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSeen {
    /// There is none, as far as it knows.
    Missing(u64),
    /// It has told nothing of it yet.
    Untold,
    /// It was deleted.
    Deleted(u64),
    /// It has this resourceVersion.
    At(String),
}

/// Input of a pass from the manager's state.
#[derive(Clone, Debug)]
pub struct Input {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// Inventory namespaces that may be written to ([`inventories`](super::inventories)).
    pub namespaces: Vec<String>,
    /// Inventory namespaces that may not.
    pub forbidden: Vec<String>,
    /// Where the workload cluster's API is served and what it is verified by, once that is known;
    /// else why not, human-readable.
    pub server: Result<Server, String>,
    /// What the probes of the control plane add up to.
    pub verdict: Verdict,
    /// The same, human-readable.
    pub health: String,
    /// `gitVersion` of the workload cluster, when it said.
    pub version: Option<String>,
    /// A Cluster of this namespace whose administrators' kubeconfig has the name of the consumers'
    /// Secret.
    pub rival: Option<String>,
    /// What the watch shows of the Secret of consumers; None where nobody watches, and it is read
    /// each time.
    pub secret: Option<SecretSeen>,
    /// Whether the manager is connected to the workload cluster.
    pub is_connected: bool,
}
