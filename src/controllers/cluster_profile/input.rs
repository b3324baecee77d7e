//! What a pass over the ClusterProfiles of a Cluster is given, and what comes of it.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use crate::api::Cluster;
use crate::api::conditions::Finding;
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
#[derive(Clone)]
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
    /// A client of the member ([`client_config`](crate::workload::client_config)).
    pub member: Option<Client>,
}

/// What came of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Conditions for the Cluster.
    pub findings: Vec<Finding>,
    /// When to come again at the latest, beside on every change.
    pub next: Option<Duration>,
}

/// Why a pass failed; it is to be repeated with back-off.
#[derive(Debug, thiserror::Error)]
#[error("failed to {what}")]
pub struct Error {
    /// What was tried, as it follows "failed to".
    pub what: String,
    /// What came back.
    #[source]
    pub source: Box<dyn StdError + Send + Sync>,
}

impl Error {
    pub(super) fn api(what: impl Into<String>, source: kube::Error) -> Self {
        Self {
            what: what.into(),
            source: Box::new(source),
        }
    }

    pub(super) fn other(
        what: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            source: Box::new(source),
        }
    }

    /// Whether somebody else changed the object first, so that the next pass will most likely work.
    pub fn is_conflict(&self) -> bool {
        let api = self.source.downcast_ref::<kube::Error>();
        matches!(api, Some(kube::Error::Api(status)) if status.code == 409)
    }
}
