//! The clusters that we made: whether we are connected to them, and what was found out about them.

use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Client, ResourceExt};

use super::known::ClusterMemories;
use crate::api::Cluster;
use crate::clock;
use crate::workload::{ClusterKey, Registry, WorkloadCluster};

/// A restart of ours is no news: how long after it a cluster that was connected may take to be connected again.
const CONNECTS_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// The clusters that we made.
pub struct Workloads {
    registry: Arc<Registry>,
    /// What was found out about them.
    pub known: ClusterMemories,
    /// When this process began to lead.
    started: Timestamp,
}

impl Workloads {
    /// Nothing is known of them; this process begins to lead.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            known: ClusterMemories::default(),
            started: clock::now(),
        }
    }

    /// That of a Cluster, once it is connected.
    pub fn get(&self, cluster: &Cluster) -> Option<Arc<WorkloadCluster>> {
        self.registry.get(&ClusterKey::of(cluster))
    }

    /// Connects that of a Cluster.
    pub fn connect(&self, cluster: &Cluster, client: Client) {
        self.registry.connect(ClusterKey::of(cluster), client);
    }

    /// Whether one that was connected before this process led may still come to be connected.
    pub fn are_connecting(&self) -> bool {
        clock::now().duration_since(self.started) < CONNECTS_WITHIN
    }

    /// Forgets that of a Cluster that is gone, or not ours.
    pub fn forget(&self, cluster: &Cluster) {
        self.registry.disconnect(&ClusterKey::of(cluster));
        self.known.forget(&cluster.uid().unwrap_or_default());
    }
}
