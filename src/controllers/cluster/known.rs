//! What the manager found out about clusters and need not ask again: a cache of observations, not of
//! progress. A restart asks again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::jiff::Timestamp;

use crate::api::conditions::Finding;
use crate::pki::Authorities;
use crate::workload::health::Judgement;

use super::observed::Addons;

/// What was found out about one cluster.
#[derive(Clone, Default)]
pub struct Known {
    /// Its certificate authorities.
    pub authorities: Option<Arc<Authorities>>,
    /// Its Secrets are held until it is gone.
    pub secrets_held: bool,
    /// When its kubeconfig has to be renewed.
    pub kubeconfig_renew_at: Option<Timestamp>,
    /// The kubeconfig Secret was not written by us.
    pub external: bool,
    /// The judgement over the probes so far.
    pub judgement: Judgement,
    /// When it was last probed.
    pub probed_at: Option<Timestamp>,
    /// What the last probe said.
    pub sentence: String,
    /// `gitVersion` of its API server.
    pub version: Option<String>,
    /// Digest of the addons that were applied, and what came of them.
    pub addons: Option<(String, Addons)>,
    /// Conditions that the ClusterProfile controller found for the Cluster.
    pub profile_findings: Vec<Finding>,
    /// When the sources of the addons were last read.
    pub addons_read_at: Option<Timestamp>,
    /// Their revision at that time.
    pub addons_revision: u64,
    /// The Cluster's generation at that time.
    pub addons_generation: Option<i64>,
}

/// What was found out about clusters, by UID.
#[derive(Default)]
pub struct KnownClusters(Mutex<HashMap<String, Known>>);

impl KnownClusters {
    /// What is known of a cluster.
    pub fn get(&self, uid: &str) -> Known {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(uid)
            .cloned()
            .unwrap_or_default()
    }

    /// Changes what is known of a cluster.
    pub fn update(&self, uid: &str, change: impl FnOnce(&mut Known)) {
        change(
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(uid.to_owned())
                .or_default(),
        );
    }

    /// Forgets a cluster.
    pub fn forget(&self, uid: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uid);
    }
}
