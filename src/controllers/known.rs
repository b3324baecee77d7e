//! What the manager found out about clusters and need not ask again: a cache of observations, not of
//! progress. A restart asks again.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use secrecy::SecretString;

use crate::api::conditions::Finding;
use crate::core::cluster::health::Judgement;
use crate::core::cluster_profile::Server;
use crate::core::machine::plan::turn::Marks;
use crate::memory::ByUid;
use crate::pki::Authorities;

use crate::core::cluster::{Attempt, Certificates};

/// What a kubeconfig Secret says.
#[derive(Clone)]
pub struct Kubeconfig {
    /// It was not written by us: the control plane is somebody else's.
    pub external: bool,
    /// When its certificate has to be renewed.
    pub renew_at: Option<Timestamp>,
    /// Tells it from what it was before.
    pub digest: Option<String>,
    /// Why it cannot be used, for people.
    pub problem: Option<String>,
    /// The CA that the control plane was made with, PEM: what one of ours was written with.
    pub made_with: Option<String>,
    /// UID of the Secret, if there is one.
    pub uid: Option<String>,
    /// Where it says that the API is served, for ClusterProfiles; or why that cannot be told to others.
    pub server: Result<Server, String>,
}

impl Default for Kubeconfig {
    /// Nobody has looked yet.
    fn default() -> Self {
        Self {
            external: false,
            renew_at: None,
            digest: None,
            problem: None,
            made_with: None,
            uid: None,
            server: Err("its kubeconfig has not been read yet".into()),
        }
    }
}

/// What was found out about one cluster.
#[derive(Clone, Default)]
pub struct ClusterMemory {
    /// Revision of its Secrets at which they were last read.
    pub secrets_at: Option<u64>,
    /// Its certificate authorities.
    pub authorities: Option<Arc<Authorities>>,
    /// How their Secrets stand.
    pub certificates: Certificates,
    /// What its CA Secret says of the control-plane turn, once it was read; nothing where there is none.
    pub turn: Option<Option<Marks>>,
    /// Its Secrets as they were last read or written, by name, without what they hold.
    pub secrets: BTreeMap<String, Secret>,
    /// The kubeconfig that we are about to connect with.
    pub unused: Option<SecretString>,
    /// Its Secrets are held until it is gone.
    pub secrets_held: bool,
    /// What its kubeconfig Secret says.
    pub kubeconfig: Kubeconfig,
    /// Digest of the kubeconfig that we are connected with.
    pub connected_with: Option<String>,
    /// The judgement over the probes so far.
    pub judgement: Judgement,
    /// When it was last probed.
    pub probed_at: Option<Timestamp>,
    /// When the first of the probes failed that have failed in a row.
    pub failing_since: Timestamp,
    /// What the last probe said.
    pub sentence: String,
    /// `gitVersion` of its API server.
    pub version: Option<String>,
    /// What came of the addons.
    pub addons: Option<Attempt>,
    /// Conditions that the ClusterProfile controller found for the Cluster.
    pub profile_findings: Vec<Finding>,
}

/// What was found out about clusters, by UID.
#[derive(Default)]
pub struct ClusterMemories(ByUid<ClusterMemory>);

impl ClusterMemories {
    /// What is known of a cluster.
    pub fn get(&self, uid: &str) -> ClusterMemory {
        self.0.get(uid).unwrap_or_default()
    }

    /// Changes what is known of a cluster.
    pub fn update(&self, uid: &str, change: impl FnOnce(&mut ClusterMemory)) {
        self.0.update(uid, change);
    }

    /// Forgets a cluster.
    pub fn forget(&self, uid: &str) {
        self.0.remove(uid);
    }
}
