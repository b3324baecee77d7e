//! What the manager knows of a Cluster that is published. Pure.

use std::sync::Arc;

use crate::api::Cluster;
use crate::core::cluster::health::Verdict;

/// Where a member's API is served, and what it is verified by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `https://host:port`.
    pub url: String,
    /// Certificates, PEM.
    pub authority_pem: String,
}

/// What a pass is given.
#[derive(Clone, Debug)]
pub struct Input {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// Inventory namespaces that may be written to ([`inventories`](super::inventories)).
    pub namespaces: Vec<String>,
    /// Inventory namespaces that may not.
    pub forbidden: Vec<String>,
    /// Where the member's API is served and what it is verified by, once that is known; else why it is not, for people.
    pub server: Result<Server, String>,
    /// What the probes of the control plane add up to.
    pub verdict: Verdict,
    /// The same for people.
    pub health: String,
    /// `gitVersion` of the member, when it said.
    pub version: Option<String>,
    /// A Cluster of this namespace whose administrators' kubeconfig has the name of the consumers' Secret.
    pub rival: Option<String>,
    /// Whether the manager is connected to the member.
    pub has_member: bool,
}
